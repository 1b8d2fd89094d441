"""Real trainings: what is written is true, and nothing in the training changes."""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn
from watched import ClippingStep, ScalingStep, Trained, cross_entropy, mlp, train

pytestmark = pytest.mark.slow


def plain_model(**arguments):
    def make():
        network = mlp()
        optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
        return network, ms.Model(network, cross_entropy(), optimizer, **arguments)

    return make


def cell_model():
    network = mlp()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(network, cross_entropy()),
        nn.Momentum(network.trainable_params(), 0.1, 0.9),
    )
    return network, ms.Model(step)


def clipping_model():
    network = mlp()
    optimizer = nn.Adam(network.trainable_params(), 0.01)
    return network, ms.Model(ClippingStep(nn.WithLossCell(network, cross_entropy()), optimizer))


def scaled_model():
    network = mlp()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9, loss_scale=1024.0)
    manager = ms.FixedLossScaleManager(1024.0, drop_overflow_update=False)
    return network, ms.Model(network, cross_entropy(), optimizer, loss_scale_manager=manager)


def scaling_cell_model():
    network = mlp()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    return network, ms.Model(ScalingStep(nn.WithLossCell(network, cross_entropy()), optimizer))


KINDS = {
    "plain": plain_model(),
    "cell": cell_model,
    "clipping": clipping_model,
    "scaled": scaled_model,
    "scaling cell": scaling_cell_model,
    "O1": plain_model(amp_level="O1"),
    "O3": plain_model(amp_level="O3"),
}


@pytest.fixture(params=list(KINDS), scope="module")
def pair(
    request: pytest.FixtureRequest, mode: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Trained, Trained]:
    """The same training without and with a monitor."""
    folder = tmp_path_factory.mktemp("runs")
    make = KINDS[request.param]
    alone = train(folder / "alone", watched=False, make=make)
    return request.param, alone, train(folder / "watched", make=make)


def test_losses_and_parameters_are_the_same_to_the_last_bit(pair) -> None:
    _, alone, watched = pair
    assert watched.losses == alone.losses
    for name, values in alone.parameters.items():
        assert np.array_equal(values, watched.parameters[name]), name


def test_checkpoints_hold_the_same_keys(pair) -> None:
    _, alone, watched = pair
    assert watched.keys == alone.keys


def test_every_loss_is_in_the_journal(pair) -> None:
    _, _, watched = pair
    assert watched.series("loss") == pytest.approx(
        dict(enumerate(watched.losses, start=1)), rel=1e-6
    )


def test_gradient_norms_are_those_of_the_update(pair) -> None:
    kind, _, watched = pair
    norms = watched.series("grad_norm")
    assert list(norms) == list(range(2, 21, 4))
    if kind == "clipping":
        assert all(norm == pytest.approx(0.1, rel=1e-4) for norm in norms.values())
    else:
        # One step's gradient of this network at this loss; scaled ones would be 1,024 times that.
        assert all(1e-3 < norm < 10 for norm in norms.values())


def test_a_scaling_cell_tells_scale_and_overflow(pair) -> None:
    kind, _, watched = pair
    if kind == "scaling cell":
        assert set(watched.series("loss_scale").values()) == {1024.0}
        assert set(watched.series("overflow").values()) == {0.0}
        assert watched.monitor.health().loss_scale == 1024.0
        assert watched.monitor.health().overflows == 0


def test_the_training_cell_is_given_back(pair) -> None:
    _, _, watched = pair
    cell = watched.model.train_network
    assert cell.phase == "train"
    names = {type(each).__name__ for _, each in cell.cells_and_names()}
    assert "_Tap" not in names


def test_the_run_ends_by_itself(pair) -> None:
    _, _, watched = pair
    assert watched.notices()[-1].sentence == "The training has finished."
    health = watched.monitor.health()
    assert health.steps == 20
    assert health.epochs == 2
    assert health.rows_seen == 320
    assert health.finite is True
    assert health.final_loss == pytest.approx(watched.losses[-1])
    assert len(health.gradient_norm_quantiles) == 3


def test_fit_with_evaluations_is_one_run(mode: str, tmp_path: Path) -> None:
    trained = train(tmp_path / "run", fit=True)
    assert len(trained.series("eval_accuracy")) == 2
    assert list(trained.series("loss")) == list(range(1, 21))
    assert [each.rule for each in trained.notices()].count("ended") == 1
    assert trained.monitor.health().epochs == 2


def test_a_schedule_is_read_as_the_step_used_it(mode: str, tmp_path: Path) -> None:
    rates = [0.1 / (step + 1) for step in range(20)]

    def make():
        network = mlp()
        optimizer = nn.Momentum(network.trainable_params(), rates, 0.9)
        return network, ms.Model(network, cross_entropy(), optimizer)

    trained = train(tmp_path / "run", make=make)
    assert trained.series("lr") == pytest.approx(dict(enumerate(rates, start=1)), rel=1e-6)


def test_a_schedule_that_is_a_cell_is_run_before_the_step(mode: str, tmp_path: Path) -> None:
    def make():
        network = mlp()
        rate = nn.ExponentialDecayLR(0.1, 0.5, 10)
        optimizer = nn.Momentum(network.trainable_params(), rate, 0.9)
        return network, ms.Model(network, cross_entropy(), optimizer)

    trained = train(tmp_path / "run", make=make, epochs=1)
    expected = {step: 0.1 * 0.5 ** ((step - 1) / 10) for step in range(1, 11)}
    assert trained.series("lr") == pytest.approx(expected, rel=1e-5)


def test_scheduled_groups_have_a_rate_each(mode: str, tmp_path: Path) -> None:
    rates = [0.1 / (step + 1) for step in range(20)]

    def make():
        network = mlp()
        first, *others = network.trainable_params()
        groups = [{"params": [first], "lr": 0.05}, {"params": others}]
        optimizer = nn.Momentum(groups, rates, 0.9)
        return network, ms.Model(network, cross_entropy(), optimizer)

    trained = train(tmp_path / "run", make=make, epochs=1)
    assert trained.series("lr/0")[4] == pytest.approx(0.05)
    assert trained.series("lr/1")[4] == pytest.approx(0.025)


def test_groups_have_a_rate_each(mode: str, tmp_path: Path) -> None:
    def make():
        network = mlp()
        first, *others = network.trainable_params()
        groups = [{"params": [first], "lr": 0.05}, {"params": others}]
        optimizer = nn.Momentum(groups, 0.1, 0.9)
        return network, ms.Model(network, cross_entropy(), optimizer)

    trained = train(tmp_path / "run", make=make, epochs=1)
    assert trained.series("lr/0")[1] == pytest.approx(0.05)
    assert trained.series("lr/1")[1] == pytest.approx(0.1)


def test_a_second_training_goes_on_with_the_run(graph: None, tmp_path: Path) -> None:
    network, model = cell_model()
    trained = train(tmp_path / "run", make=lambda: (network, model), epochs=1)
    from watched import dataset

    model.train(1, dataset(), callbacks=[trained.monitor])
    assert list(trained.series("loss")) == list(range(1, 21))
    health = trained.monitor.health()
    assert (health.steps, health.epochs, health.rows_seen) == (20, 2, 320)
    assert set(trained.series("epoch").values()) == {1.0, 2.0}
    assert trained.rules().count("resumed") == 0
