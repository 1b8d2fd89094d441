"""Who may write to a run, and under which numbers it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from watched import until

from driftline.train_side.journal import Journal
from driftline.train_side.point import Point, stamp
from driftline.train_side.reading import read_journal

HOLDS_THE_LOCK = """
import fcntl, sys
guard = open(sys.argv[1], "ab")
fcntl.flock(guard, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Inside, another process holds the run."""
    command = [sys.executable, "-c", HOLDS_THE_LOCK, str(folder / ".journal.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
        assert process.stdin is not None
        process.stdin.close()


def fill(journal: Journal, steps: range) -> None:
    for step in steps:
        journal.append(Point(time=stamp(step), step=step, values={"loss": 1.0}))


def numbers(folder: Path) -> list[tuple[int, int]]:
    return [(each.n, each.step) for each in read_journal(folder) if isinstance(each, Point)]


def test_a_run_that_is_held_for_a_while_is_numbered_on(tmp_path: Path) -> None:
    """Under numbers from 1 a reader would take the new entries for the old ones."""
    journal = Journal(tmp_path)
    fill(journal, range(1, 101))
    journal.close()
    with held(tmp_path):
        journal = Journal(tmp_path)
        fill(journal, range(101, 126))
        journal.write(sync=True)
        assert isinstance(journal.error, BlockingIOError)
    fill(journal, range(126, 151))
    journal.close()
    assert numbers(tmp_path) == [(step, step) for step in range(1, 151)]


def test_what_the_other_process_wrote_meanwhile_is_numbered_before(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    second = Journal(tmp_path)
    fill(first, range(1, 31))
    fill(second, range(101, 111))
    second.write(sync=True)
    first.close()
    second.write(sync=True)
    found = second.recent(30, 100)
    assert [each.n for each in found or []] == list(range(31, 41))
    second.close()
    expected = [*range(1, 31), *range(101, 111)]
    assert numbers(tmp_path) == list(enumerate(expected, start=1))


def test_a_forked_process_does_not_keep_the_run(tmp_path: Path) -> None:
    """As when a training is killed, and the workers of its dataset live on."""
    journal = Journal(tmp_path)
    fill(journal, range(1, 11))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b".")
        signal.pause()
    try:
        os.read(read, 1)  # the child is past the fork's handlers
        journal.close()
        again = Journal(tmp_path)
        until(lambda: again.error is None)
        assert again.n == 10
        again.close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
