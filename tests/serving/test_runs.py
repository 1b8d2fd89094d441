"""Runs: what trainings push arrives once, and is read back at any coarseness."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pushes import batch

from driftline.metadata.errors import InputError
from driftline.serving.runs import levels, runs
from driftline.serving.runs.push import Point, Push, parse_push
from driftline.serving.runs.rows import Rows, unpack
from driftline.serving.runs.runs import Runs
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.sqlite import SqliteStore
from driftline.serving.stores.store import Store


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "runs.db")
    yield made
    made.close()


def test_two_workers_that_take_the_same_pushes_agree(store: Store) -> None:
    """Whoever takes a push, and however often, every level is made once."""
    first, second = Runs(store), Runs(store)
    for sequence in range(1, 600):
        first.push("a", batch(sequence, 2))
        second.push("a", batch(sequence, 2))
    summary = first.summary("a")
    assert summary is not None
    assert summary == second.summary("a")
    assert summary.points == 1198
    for level in range(1, levels.TOP + 1):
        entries = store.entries(f"run/{level}/1000000000000/a", 0, 10_000)
        assert len(entries) == 599 // 16**level


def test_an_old_summary_is_not_wrong(store: Store) -> None:
    """A worker that was stopped may store one late: what came since is folded by its reader."""
    kept = Runs(store)
    kept.push("a", batch(1))
    old = store.entries("run/summary/a", 0, 1)[0].value
    for sequence in range(2, 40):
        kept.push("a", batch(sequence))
    now = kept.summary("a")
    store.append("run/summary/a", [old], keep=1)
    assert Runs(store).summary("a") == now


@pytest.mark.parametrize("size", [1, 7])
def test_any_stretch_keeps_every_point_in_its_weight(
    store: Store, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Least, largest, mean and number of any stretch are exact, through all levels."""
    monkeypatch.setattr(levels, "ENOUGH_ENTRIES", 40)
    kept = Runs(store)
    rng = np.random.default_rng(5)
    values = rng.normal(size=1_500 * size)
    for sequence in range(1, 1_501):
        at = (sequence - 1) * size
        points = tuple(Point(at + i, 1.0, {"x": float(values[at + i])}) for i in range(size))
        kept.push("a", Push(sequence, points))
    summary = kept.summary("a")
    assert summary is not None
    whole = kept.rows("a", summary, ["x"], 0, 2**53)
    assert whole.weight.sum() == len(values)
    assert len(whole) < len(values)
    reduced = whole.binned(20)
    assert len(reduced) <= 20
    assert reduced.weight.sum() == len(values)
    assert reduced.low.min() == values.min()
    assert reduced.high.max() == values.max()
    mean = float((reduced.mean * reduced.weight).sum() / reduced.weight.sum())
    assert math.isclose(mean, values.mean(), rel_tol=1e-9)
    for row in range(len(reduced)):
        inside = values[reduced.first[row, ...] : reduced.last[row] + 1]
        assert reduced.low[row, 0] == inside.min()
        assert reduced.high[row, 0] == inside.max()
    fine = kept.rows("a", summary, ["x"], 700, 720)
    assert fine.is_exact
    assert fine.last.tolist() == list(range(700, 721))
    assert fine.mean[:, 0].tolist() == values[700:721].tolist()


def test_the_oldest_points_grow_coarse_and_are_not_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "KEEP", (100, 50, 50, 50))
    kept = Runs(store)
    for sequence in range(1, 401):
        kept.push("a", batch(sequence, 3))
    summary = kept.summary("a")
    assert summary is not None
    rows = kept.rows("a", summary, ["loss"], 0, 2**53)
    assert rows.weight.sum() == 1200
    assert rows.high.max() == 1.0
    assert not kept.rows("a", summary, ["loss"], 0, 50).is_exact
    assert kept.rows("a", summary, ["loss"], 1150, 1199).is_exact


def test_a_run_that_is_begun_anew_forgets_its_first_life(store: Store) -> None:
    """Its folder was removed: sequence numbers begin at 1 again, and points are later."""
    kept = Runs(store)
    for sequence in range(1, 41):
        kept.push("a", batch(sequence))
    kept.push("b", batch(1))
    again = batch(1, first=5_000)
    assert kept.push("a", again).accepted == 10
    assert kept.push("a", again).duplicate
    assert Runs(store).push("a", batch(2, first=5_010)).accepted == 10
    summary = kept.summary("a")
    assert summary is not None
    assert (summary.points, summary.first_step, summary.last_step) == (20, 5_000, 5_019)
    assert len(kept.rows("a", summary, ["loss"], 0, 2**53)) == 20
    assert store.logs("run/0/") == ["run/0/1000000000000/b", "run/0/1000005000000/a"]


def test_too_many_runs_make_room_for_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was silent longest goes; if none is silent, the new one is refused."""
    monkeypatch.setattr(runs, "MOST_RUNS", 3)
    now = 1e9
    kept = Runs(store, clock=lambda: now)
    for name in ("c", "a", "b"):
        kept.push(name, batch(1))
        now += 1
    with pytest.raises(InputError, match="under way"):
        kept.push("d", batch(1))
    now += runs.SILENT
    kept.push("a", batch(2))
    kept.push("d", batch(1))
    assert kept.names() == ["a", "b", "d"]
    assert kept.summary("c") is None


values = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False, width=64))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), values, max_size=3), max_size=40),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_reducing_twice_is_reducing_once(
    points: list[dict[str, float | None]], first: int, second: int
) -> None:
    """Whatever was sent; and packing loses nothing."""
    rows = Rows.of_points([Point(at, 1.0, each) for at, each in enumerate(points)])
    again = unpack(rows.pack())
    assert again.names == rows.names
    np.testing.assert_array_equal(again.mean, rows.mean)
    twice, once = rows.every(first).every(second), rows.every(first * second)
    twice = unpack(twice.pack())
    np.testing.assert_array_equal(twice.low, once.low)
    np.testing.assert_array_equal(twice.high, once.high)
    np.testing.assert_array_equal(twice.weight, once.weight)
    most = float(np.nanmax(np.abs(rows.mean), initial=0.0))
    np.testing.assert_allclose(twice.mean, once.mean, rtol=1e-9, atol=1e-9 * most)
    assert Rows.joined([rows, Rows.of_points([])]).names == rows.names


def test_a_push_is_parsed_as_the_training_side_writes_it() -> None:
    """The body that the monitor's board sink sends."""
    raw = (
        b'{"sequence": 3, "points": [{"step": 5, "time": 1760000000.5, "values": '
        b'{"loss": 0.25, "grad_norm/fc.weight": 1e-3}}], "events": [{"step": 5, "time": '
        b'1760000000.5, "rule": "explosion", "severity": "warning", "sentence": "It grew."}]}'
    )
    push = parse_push(raw)
    assert push.sequence == 3
    assert push.points[0].values["grad_norm/fc.weight"] == 1e-3
    assert push.events[0].rule == "explosion"
