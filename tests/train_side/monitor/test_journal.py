"""The journal on disk, whatever its writer died of."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from driftline.train_side import journal as module
from driftline.train_side.journal import Journal
from driftline.train_side.point import End, Point, Start, stamp
from driftline.train_side.reading import Follower, last_of, read_journal, segments
from driftline.train_side.runs import RunFolder


def point(step: int, **values: float | None) -> Point:
    return Point(time=stamp(1_700_000_000 + step), step=step, values=values or {"loss": 1.0})


def steps(folder: Path) -> list[int]:
    return [each.step for each in read_journal(folder) if isinstance(each, Point)]


def test_entries_are_read_as_they_were_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(point(1, loss=0.5, accuracy=None))
    journal.close()
    (entry,) = read_journal(tmp_path)
    assert entry == Point(
        n=1, time="2023-11-14T22:13:21.000Z", step=1, values={"loss": 0.5, "accuracy": None}
    )


def test_lines_are_strict_json(tmp_path: Path) -> None:
    import json

    journal = Journal(tmp_path)
    journal.append(point(1, loss=float("nan"), norm=float("inf")))
    journal.close()
    line = segments(tmp_path)[0].read_text()

    def refuse(name: str) -> None:
        raise AssertionError(name)

    assert json.loads(line, parse_constant=refuse)["values"] == {"loss": None, "norm": None}


def test_a_torn_last_line_is_left_out_and_the_next_process_goes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for step in range(1, 6):
        journal.append(point(step))
    journal.close()
    path = segments(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-20])
    assert steps(tmp_path) == [1, 2, 3, 4]
    journal = Journal(tmp_path)
    assert journal.n == 4
    journal.append(point(6))
    journal.close()
    assert steps(tmp_path) == [1, 2, 3, 4, 6]
    assert [entry.n for entry in read_journal(tmp_path)] == [1, 2, 3, 4, 5]


def test_segments_are_rotated_and_the_oldest_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 2000)
    monkeypatch.setattr(module, "SEGMENTS", 5)
    journal = Journal(tmp_path)
    for step in range(1, 501):
        journal.append(point(step))
        if step % 10 == 0:
            journal.write()
    journal.close()
    assert len(segments(tmp_path)) == 5
    found = steps(tmp_path)
    assert found == list(range(found[0], 501))


def test_a_full_disk_loses_nothing_that_fits_into_memory(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk; it is lifted later."""
    script = """
import resource, sys
from pathlib import Path
from driftline.train_side.journal import Journal
from driftline.train_side.point import Point, stamp
from driftline.train_side.reading import read_journal
folder = Path(sys.argv[1])
journal = Journal(folder)
def add(steps):
    for step in steps:
        journal.append(Point(time=stamp(step), step=step, values={"loss": 1.0}))
    journal.write(sync=True)
add(range(1, 11))
size = sum(path.stat().st_size for path in folder.glob("*.jsonl"))
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, resource.RLIM_INFINITY))
add(range(11, 21))
assert journal.error is not None
assert [each.step for each in read_journal(folder)] == list(range(1, 11))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
add(range(21, 31))
journal.close()
assert journal.error is None and journal.lost == 0
assert [each.step for each in read_journal(folder)] == list(range(1, 31))
"""
    assert resource.RLIMIT_FSIZE is not None
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_folder_that_cannot_be_made_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = Journal(tmp_path / "file" / "run")
    for step in range(1, 4):
        journal.append(point(step))
    journal.write()
    journal.close()
    assert journal.error is not None
    assert len(caplog.records) == 1
    found = journal.recent(0, 10)
    assert [entry.n for entry in found or []] == [1, 2, 3]


def test_a_second_process_cannot_write_to_the_same_run(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    second = Journal(tmp_path)
    second.append(point(1))
    second.write()
    assert isinstance(second.error, BlockingIOError)
    first.append(point(2))
    first.close()
    assert steps(tmp_path) == [2]


def test_a_follower_sees_every_entry_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path, keep=20)
    follower = Follower(journal)
    seen: list[int] = []
    for step in range(1, 301):
        journal.append(point(step))
        if step % 7 == 0:
            journal.write()
        if step % 90 == 0:  # by now memory does not reach back: the files have to be read
            seen += [entry.n for entry in follower.next(13)]
    while found := follower.next(13):
        seen += [entry.n for entry in found]
    assert seen == list(range(1, 301))
    assert follower.missed == 0
    journal.close()


@pytest.mark.parametrize("keep", [20, 1000])
def test_a_follower_that_is_set_back_reads_the_same_again(tmp_path: Path, keep: int) -> None:
    """From files as from memory; a board that found a batch too large gets all of it in parts."""
    journal = Journal(tmp_path, keep=keep)
    for step in range(1, 301):
        journal.append(point(step))
    journal.write()
    follower = Follower(journal)
    assert [entry.n for entry in follower.next(100)] == list(range(1, 101))
    follower.back(0)
    for first in (1, 51, 101):
        assert [entry.n for entry in follower.next(50)] == list(range(first, first + 50))
    assert follower.missed == 0
    journal.close()


def test_a_follower_goes_on_with_memory_where_nothing_was_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = Journal(tmp_path / "file" / "run", keep=20)
    follower = Follower(journal)
    for step in range(1, 101):
        journal.append(point(step))
    assert [entry.n for entry in follower.next(50)] == list(range(81, 101))
    assert follower.missed == 80


def test_a_broken_run_is_continued_and_says_where_it_broke(tmp_path: Path) -> None:
    first = RunFolder(tmp_path / "digits")
    first.start({})
    first.journal.append(point(41))
    first.journal.close()
    second = RunFolder(tmp_path / "digits")
    second.start({})
    second.journal.close()
    assert second.run == first.run
    assert second.resumed_after == 41
    starts = [each for each in read_journal(tmp_path / "digits") if isinstance(each, Start)]
    assert starts[1].broken is not None
    assert "after step 41, at 2023-11-14T22:14:01.000Z" in starts[1].broken


def test_a_run_that_had_ended_is_moved_aside(tmp_path: Path) -> None:
    first = RunFolder(tmp_path / "digits", run="a")
    first.start({})
    first.journal.append(point(41))
    first.end(41, "finished", 0)
    first.journal.close()
    (tmp_path / "digits" / "mine.txt").write_text("stays")
    second = RunFolder(tmp_path / "digits", run="b")
    assert second.resumed_after is None
    second.journal.close()
    assert steps(tmp_path / "digits" / "earlier" / "a") == [41]
    assert (tmp_path / "digits" / "mine.txt").exists()
    assert last_of(tmp_path / "digits") is None


def test_a_finished_run_is_continued_when_asked(tmp_path: Path) -> None:
    first = RunFolder(tmp_path / "digits")
    first.start({})
    first.end(41, "finished", 0)
    first.journal.close()
    assert isinstance(last_of(tmp_path / "digits"), End)
    second = RunFolder(tmp_path / "digits", resume=True)
    assert second.run == first.run
    assert second.resumed_after == 41
    assert second.broken is None
    second.journal.close()


def test_a_folder_without_a_right_to_write_is_only_logged(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    journal = Journal(tmp_path / "run")
    journal.append(point(1))
    journal.close()
    assert journal.error is not None
    tmp_path.chmod(0o700)
