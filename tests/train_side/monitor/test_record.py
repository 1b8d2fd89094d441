"""What is remembered of a run."""

from __future__ import annotations

import gc
import io
import pickle
from pathlib import Path

import numpy as np
import psutil
import pytest

from driftline.train_side.journal import Journal
from driftline.train_side.layers import LayerTable
from driftline.train_side.plan import Plan
from driftline.train_side.point import Point, Sample, stamp
from driftline.train_side.record import Record
from driftline.train_side.rules import default_rules
from driftline.train_side.series import series_of
from driftline.train_side.settings import MonitorSettings
from driftline.train_side.sinks import Console, Values


def sample(step: int, **values: float) -> Sample:
    return Sample(step=step, epoch=1 + step // 1000, time=1.7e9 + step, values=values)


def test_the_smoothed_loss_is_an_unbiased_exponential_mean() -> None:
    record = Record()
    losses = np.random.default_rng(0).normal(5, 1, size=400)
    for step, loss in enumerate(losses):
        values = record.add(sample(step, loss=float(loss)))
        if step == 0:
            assert values["loss_smoothed"] == pytest.approx(loss)
    weights = 0.95 ** np.arange(400)[::-1]
    assert values["loss_smoothed"] == pytest.approx((losses * weights).sum() / weights.sum())


def test_a_loss_that_is_not_finite_does_not_spoil_the_smoothed_one() -> None:
    record = Record()
    record.add(sample(1, loss=2.0))
    assert record.add(sample(2, loss=float("nan")))["loss_smoothed"] == 2.0


def test_the_variation_of_gradient_norms_is_that_of_numpy() -> None:
    record = Record()
    norms = np.random.default_rng(0).gamma(2, size=100)
    for step, norm in enumerate(norms):
        values = record.add(sample(step, grad_norm=float(norm)))
    last = norms[-51:-1]  # those before this one
    assert values["grad_cv"] == pytest.approx(last.std(ddof=1) / last.mean())


def test_the_layer_that_is_out_of_line_is_named() -> None:
    table = LayerTable()
    for _ in range(10):
        table.add(
            {
                "grad_norm/conv.weight": 1.0,
                "grad_norm/conv.bias": 0.001,
                "grad_norm/fc.weight": 1.2,
                "grad_norm/dead.weight": 0.0,
                "grad_norm/dead.bias": 0.0,
                "grad_norm/head.weight": 9.0,
            }
        )
    names = [name for name, _ in table.worst()]
    assert names == ["dead", "head"]
    assert "below 0.1× the layers' mean in 10 of 10 samples" in dict(table.worst())["dead"]


def test_memory_stays_constant_over_100_000_steps(tmp_path: Path) -> None:
    plan = Plan(
        folder=tmp_path,
        settings=MonitorSettings(),
        probes=(),
        gauges=(),
        rules=default_rules(),
        sinks=(),
        policies={},
    )
    session = plan.open(about={})
    process = psutil.Process()

    def add(steps: range) -> tuple[int, int]:
        """The size of the record, and of the process, after these steps."""
        for first in range(steps.start, steps.stop, 100):
            session.desk.handle(
                [
                    sample(step, loss=1.0, lr=0.1, grad_norm=1.0 + step % 7)
                    for step in range(first, first + 100)
                ]
            )
        gc.collect()
        return len(pickle.dumps(session.record)), process.memory_info().rss

    _, memory = add(range(20_000))
    size, grown = add(range(20_000, 100_000))
    session.close("finished", 5)
    assert size < 300_000
    assert grown - memory < 8_000_000


def test_the_number_of_names_is_bounded(log: pytest.LogCaptureFixture) -> None:
    record = Record()
    for index in range(2000):
        record.add_metric(f"metric{index}", 1.0)
    assert len(record.latest()) == 500
    assert record.unlisted == 1500
    assert len(record.metrics) == 500
    assert len(record._metrics) == 500
    assert log.text.count("'metric500' is the name of a value beyond the 500th") == 1
    assert len(log.records) == 1


def test_a_console_keeps_what_it_shows() -> None:
    console = Console(file=io.StringIO())
    console.write([Values(step, 1.0, {f"metric{step}": 1.0, "lr": 0.5}) for step in range(999)], [])
    assert console._values == {"lr": 0.5}


def test_a_report_reads_a_thousand_names(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for step in range(1200):
        journal.append(Point(time=stamp(step), step=step, values={f"metric{step}": 1.0}))
    journal.close()
    assert len(series_of(tmp_path)) == 1000
