"""The network that will serve: found, run, and left as it was."""

from __future__ import annotations

import random

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from trainings import Cnn, TwoInputs, digits, two_inputs

from driftline.metadata.errors import InputError
from driftline.train_side.network import (
    as_serving,
    inference_network,
    named_outputs,
    parameters_finite,
    precision_of,
    predict,
)

ONE = Tensor(np.ones((2, 3), np.float32))


@pytest.fixture(autouse=True, scope="module")
def pynative():
    """Cells that are written in a test run in either mode; this one needs no compilation."""
    ms.set_context(mode=ms.PYNATIVE_MODE)


def test_beside_a_loss_function_it_is_the_models_network():
    network = Cnn()
    assert inference_network({"loss_fn": nn.MSELoss(), "network": network}) is network


def test_within_standard_training_cells_it_is_found():
    network = Cnn()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(network, nn.MSELoss()), nn.SGD(network.trainable_params())
    )
    assert inference_network({"loss_fn": None, "train_network": step}) is network


def test_elsewhere_the_reason_says_what_to_give():
    with pytest.raises(InputError, match="network: cannot be told from the training cell; give"):
        inference_network({"loss_fn": None, "train_network": Cnn()})


def test_inside_nothing_trains_and_afterwards_all_is_as_it_was():
    network = Cnn()
    network.set_train(True)
    network.norm.set_train(False)
    before = [(each.training, each.phase) for _, each in network.cells_and_names()]
    with as_serving(network):
        assert not any(each.training for _, each in network.cells_and_names())
    assert [(each.training, each.phase) for _, each in network.cells_and_names()] == before


def test_an_error_inside_restores_as_well():
    network = Cnn()
    network.set_train(True)
    with pytest.raises(ValueError, match="inside"), as_serving(network):
        raise ValueError("inside")
    assert network.training
    assert network.norm.training


def test_batch_norm_keeps_its_moving_averages():
    network = Cnn()
    network.set_train(True)
    before = network.norm.moving_mean.asnumpy().copy()
    with as_serving(network):
        predict(network, [digits()[0][:16]])
    np.testing.assert_array_equal(network.norm.moving_mean.asnumpy(), before)


def test_random_generators_that_moved_inside_stand_where_they_stood():
    before = ms.get_rng_state().asnumpy()
    with as_serving(Cnn()):
        drawn = np.random.random(), random.random()
        ms.manual_seed(99)
        assert ms.get_rng_state().asnumpy().tolist() != before.tolist()
    assert (np.random.random(), random.random()) == drawn
    np.testing.assert_array_equal(ms.get_rng_state().asnumpy(), before)


def test_outputs_are_numbered_if_there_are_several():
    network = TwoInputs()
    data = two_inputs(4, seed=1)
    found = predict(network, [data["numbers"], data["tokens"]])
    assert {name: each.shape for name, each in found.items()} == {
        "output_0": (4, 8),
        "output_1": (4, 2),
    }


@pytest.mark.parametrize(
    ("result", "names"),
    [
        (ONE, ["output"]),
        ((ONE,), ["output"]),
        ([ONE, ONE], ["output_0", "output_1"]),
        ({"logits": ONE, "pooled": ONE}, ["logits", "pooled"]),
    ],
)
def test_outputs_have_names(result, names):
    assert list(named_outputs(result)) == names


def test_an_output_that_is_no_tensor_is_told():
    with pytest.raises(InputError, match="output_1: a tensor expected, the network gave NoneType"):
        named_outputs((ONE, None))


def test_precision_names_the_types_of_parameters_and_casts():
    assert precision_of(Cnn()) == "float32"
    assert precision_of(Cnn().to_float(ms.float16)) == "float16+float32"
    assert precision_of(nn.ReLU()) == "none"


def test_a_nan_in_any_parameter_is_found():
    network = nn.Dense(2, 2)
    assert parameters_finite(network)
    network.bias.set_data(Tensor(np.array([0, np.nan], np.float32)))
    assert not parameters_finite(network)
