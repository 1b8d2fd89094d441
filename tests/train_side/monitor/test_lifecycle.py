"""The tasks that begin and end a run are handled, whatever else waits."""

from __future__ import annotations

import threading
from pathlib import Path

from sessions import opened

from driftline.train_side.point import End, Point
from driftline.train_side.reading import last_of, read_journal
from driftline.train_side.session import Session


def held(session: Session) -> threading.Event:
    """The session's worker is busy from now on, until the event is set."""
    started, free = threading.Event(), threading.Event()

    def blocks() -> None:
        started.set()
        free.wait(20)

    session.do(blocks)
    session.worker.wake()
    assert started.wait(5)
    return free


def test_a_full_queue_does_not_keep_the_end_out(tmp_path: Path) -> None:
    """Without its end the next start would take the run for one that broke."""
    session = opened(tmp_path)
    free = held(session)
    for step in range(11_000):
        session.metric("bleu", 0.5, step)
    session.epoch(1, 11_000, {"eval_accuracy": 0.75})
    assert session.worker.dropped == 1000
    threading.Timer(0.05, free.set).start()
    assert session.close("finished", 20)
    end = last_of(tmp_path)
    assert isinstance(end, End)
    assert (end.reason, end.dropped) == ("finished", 1000)
    points = [each for each in read_journal(tmp_path) if isinstance(each, Point)]
    assert points[-1].values["eval_accuracy"] == 0.75


def test_what_must_be_handled_has_its_bound_too(tmp_path: Path) -> None:
    session = opened(tmp_path)
    free = held(session)
    for _ in range(20_000):
        session.do(lambda: None)
    assert session.worker.dropped == 9_000
    free.set()
    session.close("finished", 20)
