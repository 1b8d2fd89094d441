"""The files of a package: they answer as the network did."""

from __future__ import annotations

import logging

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from trainings import Cnn, TwoInputs, digits, two_inputs

from driftline.metadata.schema import TensorSpec
from driftline.train_side import export as module
from driftline.train_side.export import NO_GRAPH, ONE_ROW, check, export


def answers(network, *arrays):
    network.set_train(False)
    result = network(*(Tensor(array) for array in arrays))
    return [each.asnumpy() for each in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("rows", [1, 7])
def test_the_graph_answers_as_the_network_for_any_batch(packaged, rows):
    images = digits()[2][:rows]
    graph = nn.GraphCell(ms.load(str(packaged.package.file("model"))))
    found = graph(Tensor(images)).asnumpy()
    np.testing.assert_allclose(found, answers(packaged.trained.network, images)[0], atol=1e-5)


@pytest.mark.parametrize("rows", [1, 7])
def test_a_graph_of_several_inputs_and_outputs_answers_as_the_network(two_packaged, rows):
    data = two_inputs(rows, seed=9)
    arrays = [data["numbers"], data["tokens"]]
    graph = nn.GraphCell(ms.load(str(two_packaged.package.file("model"))))
    for found, wanted in zip(
        graph(*(Tensor(each) for each in arrays)),
        answers(two_packaged.trained.network, *arrays),
        strict=True,
    ):
        np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-5)


def test_the_checkpoint_fills_a_new_network_whole(packaged):
    fresh = Cnn()
    loaded = ms.load_checkpoint(str(packaged.package.file("checkpoint")))
    missing, unexpected = ms.load_param_into_net(fresh, loaded, strict_load=True)
    assert (missing, unexpected) == ([], [])
    images = digits()[2][:7]
    np.testing.assert_array_equal(
        answers(fresh, images)[0], answers(packaged.trained.network, images)[0]
    )


def test_the_checkpoint_holds_the_networks_parameters_only(two_packaged):
    loaded = ms.load_checkpoint(str(two_packaged.package.file("checkpoint")))
    assert set(loaded) == {each.name for each in TwoInputs().get_parameters()}


class Doubler(nn.Cell):
    def construct(self, x):
        return x * 2


SPEC = (TensorSpec("x", "float32", (None, 3)),)
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def exported(folder):
    network = Doubler()
    network.set_train(False)
    return export(network, SPEC, [ROWS], {"output": ROWS * 2}, folder)


def refusing(only_dynamic):
    """An exporter that fails, for batches of any size or always."""
    genuine = module._graph

    def graph(network, specs, model):
        if not only_dynamic or specs[0].shape[0] is None:
            raise RuntimeError("cannot\ndo this")
        return genuine(network, specs, model)

    return graph


def test_a_graph_for_batches_of_any_size_is_the_first_choice(tmp_path):
    found = exported(tmp_path)
    assert (found.inputs, found.note) == (SPEC, None)
    check(found.graph, [ROWS], {"output": ROWS * 2})


def test_a_network_that_takes_no_open_batch_is_exported_for_single_rows(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(module, "_graph", refusing(only_dynamic=True))
    with caplog.at_level(logging.WARNING, logger="driftline"):
        found = exported(tmp_path)
    assert found.inputs[0].shape == (1, 3)
    assert found.note == ONE_ROW
    assert found.model.is_file()
    assert "[None, 3]: cannot" in caplog.text


def test_without_any_graph_the_checkpoint_alone_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_graph", refusing(only_dynamic=False))
    found = exported(tmp_path)
    assert (found.model, found.graph, found.note) == (None, None, NO_GRAPH)
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint.ckpt"]


def test_a_graph_that_answers_otherwise_does_not_serve():
    with pytest.raises(RuntimeError, match="differs from the network in 'output'"):
        check(Doubler(), [ROWS], {"output": ROWS * 2 + 1})


def test_a_failed_export_leaves_the_context_as_it_was(tmp_path):
    class Refuses(nn.Cell):
        def construct(self, x):
            raise ValueError("no")

    level = ms.get_context("jit_syntax_level")
    network = Refuses()
    network.set_train(False)
    export(network, SPEC, [ROWS], {"output": ROWS * 2}, tmp_path)
    assert ms.get_context("jit_syntax_level") == level
