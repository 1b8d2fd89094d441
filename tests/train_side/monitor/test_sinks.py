"""What sinks write is read with other people's readers."""

from __future__ import annotations

import io
import math
import socket
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from driftline.train_side.journal import Journal
from driftline.train_side.point import Notice, stamp
from driftline.train_side.sinks import (
    SINKS,
    Board,
    Console,
    Prometheus,
    Run,
    Sink,
    TensorBoard,
    Values,
)
from driftline.train_side.sinks.console import line


def run(folder: Path, steps: int | None = 100) -> Run:
    return Run("digits", folder, Journal(folder), steps)


def point(step: int, **values: float) -> Values:
    return Values(step, 1_700_000_000.0 + step, values)


NOTICE = Notice(
    time=stamp(1_700_000_007),
    step=7,
    rule="non_finite",
    severity="critical",
    sentence="The loss is not finite.",
)

MADE = {
    "board": lambda: Board("http://127.0.0.1:9", timeout=0.2),
    "console": lambda: Console(file=io.StringIO()),
    "prometheus": lambda: Prometheus(0),
    "tensorboard": TensorBoard,
}


@pytest.mark.parametrize("kind", SINKS.kinds())
def test_every_sink_takes_a_run_after_a_run(kind: str, tmp_path: Path) -> None:
    """Nothing, odd numbers, names with odd characters, an event: a sink takes all of it."""
    sink: Sink = MADE[kind]()
    for name in ("one", "two"):
        opened = run(tmp_path / name)
        sink.open(opened)
        sink.write([], [])
        sink.write([point(7, loss=math.nan, lr=math.inf)], [NOTICE])
        sink.write([Values(8, 1.0, {"grad_norm/0.weight": 0.0, "Straße 3/%": -1e300})], [])
        sink.close(1.0)
        opened.journal.close()


@pytest.mark.parametrize("kind", SINKS.kinds())
def test_every_sink_may_be_closed_unused(kind: str, tmp_path: Path) -> None:
    sink: Sink = MADE[kind]()
    sink.open(run(tmp_path))
    sink.close(1.0)


def test_tensorboards_own_reader_finds_every_value(tmp_path: Path) -> None:
    sink = TensorBoard()
    sink.open(run(tmp_path))
    losses = np.linspace(2, 0.1, 50, dtype=np.float32)
    for step, loss in enumerate(losses, start=1):
        sink.write([point(step, loss=float(loss), lr=0.1)], [NOTICE] if step == 7 else [])
    sink.close(1.0)
    reader = EventAccumulator(str(tmp_path / "tensorboard"), size_guidance={"tensors": 0})
    reader.Reload()
    found = reader.Scalars("loss")
    assert [each.step for each in found] == list(range(1, 51))
    assert np.array_equal(np.float32([each.value for each in found]), losses)
    assert found[0].wall_time == 1_700_000_001.0
    (event,) = reader.Tensors("events/non_finite/text_summary")
    assert b"The loss is not finite." in event.tensor_proto.string_val[0]


def test_a_continued_run_is_one_curve_in_tensorboard(tmp_path: Path) -> None:
    for first in (1, 11):
        sink = TensorBoard()
        opened = run(tmp_path)
        opened.journal.append(NOTICE)
        opened.journal.close()
        sink.open(opened)
        sink.write([point(step, loss=1.0) for step in range(first, first + 10)], [])
        sink.close(1.0)
    reader = EventAccumulator(str(tmp_path / "tensorboard"))
    reader.Reload()
    assert [each.step for each in reader.Scalars("loss")] == list(range(1, 21))


def test_prometheus_own_parser_reads_the_endpoint(tmp_path: Path) -> None:
    sink = Prometheus(0)
    sink.open(run(tmp_path))
    values = {
        "loss": 0.25,
        "samples_per_second": 1234.5,
        "grad_norm": math.nan,
        "lr": 0.01,
        "data_wait": 0.2,
        "grad_norm/0.weight": 0.5,
        "bleu": 0.31,
        "gpu0/temperature_celsius": 61.0,
    }
    sink.write([Values(12, 1.0, values)], [NOTICE, NOTICE])
    url = f"http://127.0.0.1:{sink.port}/metrics"
    with urllib.request.urlopen(url, timeout=5) as answer:
        text = answer.read().decode()
    sink.close(1.0)
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    label = ("run", "digits")
    assert found["driftline_train_loss", label] == 0.25
    assert found["driftline_train_step", label] == 12
    assert found["driftline_train_samples_per_second", label] == 1234.5
    assert math.isnan(found["driftline_train_grad_norm", label])
    assert found["driftline_train_layer_grad_norm", ("parameter", "0.weight"), label] == 0.5
    assert found["driftline_train_value", ("name", "bleu"), label] == 0.31
    assert found["driftline_train_value", ("name", "gpu0/temperature_celsius"), label] == 61.0
    assert found["driftline_train_learning_rate", label] == 0.01
    assert found["driftline_train_data_wait_ratio", label] == 0.2
    assert found["driftline_train_events_total", label] == 2
    assert found["driftline_train_rule_events_total", ("rule", "non_finite"), label] == 2
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=5)


def test_a_port_that_is_taken_is_an_error_of_open(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            Prometheus(taken.getsockname()[1]).open(run(tmp_path))


def test_the_console_prints_a_line_now_and_then_and_events_at_once(tmp_path: Path) -> None:
    file = io.StringIO()
    sink = Console(every=3600, file=file)
    sink.open(run(tmp_path))
    for step in range(1, 50):
        sink.write([point(step, loss=1.0 / step)], [])
    assert file.getvalue() == ""
    sink.write([], [NOTICE])
    sink.close(1.0)
    assert file.getvalue().splitlines() == [
        "! step 7: non_finite: The loss is not finite.",
        "step 49/100 (49%) │ loss 0.02041",
    ]


def test_a_line_shows_what_there_is() -> None:
    values = {"epoch": 2.0, "loss": 0.34118, "lr": 1e-4, "samples_per_second": 2040.4}
    assert line(120, 500, values) == (
        "step 120/500 (24%) │ epoch 2 │ loss 0.3412 │ lr 0.0001 │ samples/s 2040"
    )
    assert line(120, None, {}) == "step 120"


def test_on_a_terminal_it_is_a_bar(tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file = Terminal()
    sink = Console(file=file)
    sink.open(run(tmp_path, steps=50))
    sink.write([point(25, loss=0.5)], [NOTICE])
    sink.close(1.0)
    assert "25/50" in file.getvalue()
    assert "loss 0.5" in file.getvalue()
    assert "! step 7: non_finite: The loss is not finite." in file.getvalue()
