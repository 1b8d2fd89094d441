"""Processes that are ended from outside: the journal holds what they did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from watched import Trained, train, until

from driftline.train_side.interrupts import Interrupts
from driftline.train_side.point import End, Point, Start
from driftline.train_side.reading import read_journal
from driftline.train_side.settings import MonitorSettings, Sampling

SUPPORT = Path(__file__).parents[2] / "support"


def killed(folder: Path, mode: str, number: signal.Signals) -> tuple[int, int, float]:
    """Exit status, last step and its time, of a training that got a signal after 300 steps."""
    environment = os.environ | {"PYTHONPATH": str(SUPPORT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, str(SUPPORT / "victim.py"), mode, str(folder)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    steps = folder.with_suffix(".steps")
    try:
        until(lambda: steps.exists() and steps.read_text().count("\n") > 50, 120)
        process.send_signal(number)
        status = process.wait(30)
    finally:
        process.kill()
    step, time = steps.read_text().splitlines()[-1].split()
    return status, int(step), float(time)


def last_point(folder: Path) -> Point:
    return [each for each in read_journal(folder) if isinstance(each, Point)][-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "number"),
    [("graph", signal.SIGINT), ("graph", signal.SIGTERM), ("pynative", signal.SIGTERM)],
)
def test_ctrl_c_and_sigterm_lose_nothing(mode: str, number: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    status, step, _ = killed(folder, mode, number)
    assert status == -signal.SIGTERM, "the same as without a monitor"
    assert last_point(folder).step >= step - 1
    end = list(read_journal(folder))[-1]
    assert isinstance(end, End)
    assert end.reason == "interrupted by SIGTERM"


@pytest.mark.slow
@pytest.mark.usefixtures("graph")
def test_kill_9_loses_less_than_two_seconds_and_the_run_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    status, _, when = killed(folder, "graph", signal.SIGKILL)
    assert status == -signal.SIGKILL
    last = last_point(folder)
    assert when - datetime.fromisoformat(last.time).timestamp() < 2.0
    trained: Trained = train(
        folder, settings=MonitorSettings(sampling=Sampling(every=1), report=False)
    )
    steps = list(trained.series("loss"))
    assert steps == list(range(1, last.step + 21))
    starts = [each for each in read_journal(folder) if isinstance(each, Start)]
    assert starts[0].run == starts[1].run
    assert starts[1].resumed_after == last.step
    assert f"after step {last.step}" in (starts[1].broken or "")
    assert trained.rules().count("resumed") == 1


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    interrupts = Interrupts(lambda name, dies: None)
    interrupts.install()
    assert signal.getsignal(signal.SIGTERM) != before[0]
    interrupts.remove()
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_handlers_of_two_monitors_may_go_in_any_order() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[str] = []
    first = Interrupts(lambda name, dies: seen.append("first"))
    second = Interrupts(lambda name, dies: seen.append("second"))
    first.install()
    second.install()
    first.remove()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    second.remove()
    assert seen == ["second"]
    signal.signal(signal.SIGINT, before)


def test_a_forked_process_has_the_handlers_from_before() -> None:
    interrupts = Interrupts(lambda name, dies: None)
    before = signal.getsignal(signal.SIGTERM)
    interrupts.install()
    child = os.fork()
    if child == 0:
        os._exit(0 if signal.getsignal(signal.SIGTERM) == before else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert signal.getsignal(signal.SIGTERM) != before
    interrupts.remove()


def test_what_a_signal_did_before_it_still_does() -> None:
    seen: list[object] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append("theirs"))
    try:
        interrupts = Interrupts(lambda name, dies: seen.append((name, dies)))
        interrupts.install()
        os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [("SIGTERM", False), "theirs"]
    finally:
        interrupts.remove()
        signal.signal(signal.SIGTERM, before)


def test_ctrl_c_outside_mindspore_is_a_keyboard_interrupt() -> None:
    seen: list[object] = []
    interrupts = Interrupts(lambda name, dies: seen.append((name, dies)))
    interrupts.install()
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        interrupts.remove()
    assert seen == [("SIGINT", False)]


def test_a_failing_save_does_not_keep_the_signal_back() -> None:
    def fails(name: str, dies: bool) -> None:
        raise OSError("planted")

    interrupts = Interrupts(fails)
    interrupts.install()
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        interrupts.remove()
