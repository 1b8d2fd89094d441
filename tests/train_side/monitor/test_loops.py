"""Loops of the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn, ops
from watched import Trained, cross_entropy, mlp, rows

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.policies import Stop
from driftline.train_side.rules import GradientExplosion
from driftline.train_side.settings import MonitorSettings, Sampling

pytestmark = pytest.mark.slow

SETTINGS = MonitorSettings(sampling=Sampling(every=1, deep_every=3), report=False)


def batches() -> list[tuple[ms.Tensor, ms.Tensor]]:
    x, y = rows(160)
    return [(ms.Tensor(x[at : at + 16]), ms.Tensor(y[at : at + 16])) for at in range(0, 160, 16)]


class Functional:
    """A training step as MindSpore's tutorials write it."""

    def __init__(self) -> None:
        ms.set_seed(7)
        self.network = mlp()
        self.optimizer = nn.Adam(self.network.trainable_params(), 0.01)
        loss = cross_entropy()

        def forward(x: Any, y: Any) -> Any:
            logits = self.network(x)
            return loss(logits, y), logits

        self.gradient = ms.value_and_grad(forward, None, self.optimizer.parameters, has_aux=True)

    def step(self, x: Any, y: Any) -> tuple[Any, Any]:
        (loss, _), gradients = self.gradient(x, y)
        self.optimizer(gradients)
        return loss, gradients


def run(folder: Path, told: Callable[..., None] | None = None, **arguments: Any) -> list[float]:
    """The losses of two epochs, watched or, without a folder's monitor, not."""
    loop = Functional()
    losses = []
    monitor = TrainingMonitor(folder, sinks=(), settings=SETTINGS, **arguments)
    with monitor.loop(network=loop.network, optimizer=loop.optimizer) as watched:
        for _ in range(2):
            for x, y in batches():
                loss, gradients = loop.step(x, y)
                watched.step(loss=loss, grads=gradients, inputs=x, labels=y)
                losses.append(float(loss.asnumpy()))
                if told is not None:
                    told(watched, gradients)
                if watched.stop_requested:
                    break
            watched.epoch(accuracy=0.5)
    assert monitor.health() is not None
    return losses


def test_a_loop_is_seen_and_not_changed(mode: str, tmp_path: Path) -> None:
    alone = Functional()
    expected = [float(alone.step(x, y)[0].asnumpy()) for _ in range(2) for x, y in batches()]
    norms: list[float] = []

    def note(watched: Any, gradients: Any) -> None:
        squares = [float((each.asnumpy().astype(np.float64) ** 2).sum()) for each in gradients]
        norms.append(math.sqrt(sum(squares)))

    losses = run(tmp_path / "run", note)
    assert losses == expected
    trained = Trained([], [], {}, tmp_path / "run")
    assert trained.series("loss") == pytest.approx(dict(enumerate(losses, 1)), rel=1e-6)
    found = trained.series("grad_norm")
    assert list(found) == list(range(2, 21, 3))
    assert found == pytest.approx({step: norms[step - 1] for step in found}, rel=1e-5)
    assert list(trained.series("lr").values()) == pytest.approx([0.01] * 20)
    assert list(trained.series("accuracy")) == [10, 20]
    assert trained.series("update_ratio")[5] > 0


@pytest.mark.usefixtures("graph")
class TestDetails:
    def test_parts_of_a_loss_are_recorded_by_name(self, tmp_path: Path) -> None:
        monitor = TrainingMonitor(tmp_path, sinks=(), settings=SETTINGS)
        with monitor.loop() as watched:
            for _ in range(3):
                watched.step(loss={"loss": 3.0, "ce": 2.0, "kl": 1.0}, lr=0.5)
                watched.add_metric("bleu", 0.31)
        trained = Trained([], [], {}, tmp_path)
        assert set(trained.series("loss/kl").values()) == {1.0}
        assert set(trained.series("lr").values()) == {0.5}
        assert trained.series("bleu") == {1: 0.31, 2: 0.31, 3: 0.31}

    def test_tokens_as_labels_mean_perplexity(self, tmp_path: Path) -> None:
        monitor = TrainingMonitor(tmp_path, sinks=(), settings=SETTINGS)
        tokens = ms.Tensor(np.zeros((4, 7), np.int32))
        with monitor.loop() as watched:
            watched.step(loss=2.0, inputs=tokens, labels=tokens)
        trained = Trained([], [], {}, tmp_path)
        assert trained.series("perplexity")[1] == pytest.approx(math.exp(2))
        assert monitor.health().rows_seen == 4

    def test_a_stop_is_asked_for(self, tmp_path: Path) -> None:
        rules = [GradientExplosion(limit=1e-6)]
        policies = {"gradient_explosion": (Stop(),)}
        losses = run(tmp_path / "run", rules=rules, policies=policies)
        assert len(losses) <= 20
        trained = Trained([], [], {}, tmp_path / "run")
        assert trained.notices()[-1].sentence == "The training has stopped."

    def test_errors_and_ctrl_c_pass_through(self, tmp_path: Path) -> None:
        for error in (RuntimeError("planted"), KeyboardInterrupt()):

            def fails(watched: Any, gradients: Any, error: BaseException = error) -> None:
                raise error

            with pytest.raises(type(error)):
                run(tmp_path / "run", fails)
        trained = Trained([], [], {}, tmp_path / "run")
        ended = [each.sentence for each in trained.notices() if each.rule == "ended"]
        assert ended == ["It ended: RuntimeError: planted.", "It ended: KeyboardInterrupt: ."]

    def test_what_cannot_be_read_is_left_out(self, tmp_path: Path) -> None:
        monitor = TrainingMonitor(tmp_path, sinks=(), settings=SETTINGS)
        network = mlp()
        optimizer = nn.Adam(network.trainable_params(), 0.01)
        with monitor.loop(network=network, optimizer=optimizer) as watched:
            for _ in range(6):
                watched.step(loss=object(), grads=[1, 2], inputs="text", labels=None, lr="fast")
                watched.add_metric(None, None)  # type: ignore[arg-type]
            watched.step(loss=ops.ones((2, 3)))
        trained = Trained([], [], {}, tmp_path)
        assert trained.series("loss") == {7: 1.0}

    @pytest.mark.parametrize("nan", [math.nan, np.float32("nan"), np.array(np.inf, np.float32)])
    def test_a_number_that_is_not_finite_is_seen_in_a_step_that_is_not_sampled(
        self, tmp_path: Path, nan: Any
    ) -> None:
        """A number in the host's memory costs nothing to check; what lasts is news only once."""
        settings = MonitorSettings(sampling=Sampling(every=100, deep_every=100), report=False)
        monitor = TrainingMonitor(tmp_path, sinks=(), settings=settings)
        with monitor.loop() as watched:
            for step in range(1, 91):
                loss = nan if 40 <= step < 50 or step == 70 else 1.0
                watched.step(loss={"loss": loss, "kl": 1.0} if step == 70 else loss)
        assert list(Trained([], [], {}, tmp_path).series("loss")) == [2, 40, 70]
        assert monitor.health().finite is False
        (found,) = [
            each.step for each in Trained([], [], {}, tmp_path).notices()
            if each.rule == "non_finite"
        ]  # fmt: skip
        assert found == 40

    def test_tensors_of_steps_that_are_not_sampled_are_not_read(self, tmp_path: Path) -> None:
        class Device:
            shape, dtype, size = (), "Float32", 1

            def asnumpy(self) -> Any:
                read.append(self)
                return np.array(1.0, np.float32)

        read: list[Any] = []
        settings = MonitorSettings(sampling=Sampling(every=50, deep_every=50), report=False)
        with TrainingMonitor(tmp_path, sinks=(), settings=settings).loop() as watched:
            for _ in range(120):
                watched.step(loss=Device())
        assert len(read) == 5

    @pytest.mark.parametrize(
        ("loss", "said"),
        [
            (ms.Tensor(1.0), "| finite | in the 5 of 120 steps looked at |"),
            (1.0, "| finite | yes |"),
        ],
    )
    def test_the_report_says_in_how_many_steps_all_was_finite(
        self, tmp_path: Path, loss: Any, said: str
    ) -> None:
        settings = MonitorSettings(sampling=Sampling(every=50, deep_every=50))
        monitor = TrainingMonitor(tmp_path, sinks=(), settings=settings)
        with monitor.loop(network=mlp()) as watched:
            for _ in range(120):
                watched.step(loss=loss)
        assert said in (tmp_path / "training_report.md").read_text(encoding="utf-8")
