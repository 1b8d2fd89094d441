"""A page that is left open over night: neither it nor the service keeps more and more."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from boards import Board, points, until
from playwright.sync_api import Page

from driftline.serving import stream
from driftline.serving.runs.push import Point, Push, TrainingEvent
from driftline.serving.runs.runs import KEEP_EVENTS, Runs
from driftline.serving.runs.sources import RunSource
from driftline.serving.stores.memory import MemoryStore

# Every series of the page that points are added to, caught as they are; the pages' modules keep
# them to themselves.
CATCH = """async () => {
  const all = performance.getEntriesByType("resource").map((each) => each.name);
  const { Series } = await import(all.find((name) => name.endsWith("/series.js")));
  const append = Series.prototype.append;
  globalThis.caught = new Set();
  Series.prototype.append = function (told) {
    globalThis.caught.add(this);
    return append.call(this, told);
  };
}"""
KEPT = """() => [...globalThis.caught].map((series) => ({
  last: series.lastStep,
  rows: series.steps.length,
  columns: Math.max(...[...series.names.values()].flatMap(Object.values).map((all) => all.length)),
  names: series.names.size,
  events: series.events.length,
  newest: series.events.at(-1)?.step ?? null,
}))"""
SHOWN = """() => {
  const plots = [...document.querySelectorAll(".plot")];
  return {
    elements: document.querySelectorAll("*").length,
    rows: Math.max(0, ...plots.flatMap((plot) => plot.data ?? []).map((trace) => trace.x.length)),
    shapes: Math.max(0, ...plots.map((plot) => plot.layout?.shapes?.length ?? 0)),
  };
}"""
ROWS = 4_000
BATCH, EVENTS = 400, 100


def event(step: int) -> dict[str, Any]:
    return {
        "step": step,
        "time": time.time(),
        "rule": "gradient_explosion",
        "severity": "critical",
        "sentence": "The gradient norm is 118, above 100.",
    }


def test_a_night_leaves_the_page_as_small_as_it_was(
    shared: Board, run: str, open_page: Callable[..., Page]
) -> None:
    """Thousands of points and events arrive over the stream; the newest of them are kept."""
    shared.push(run, 1, points(0, 100))
    page = open_page(f"{shared.address}/training#run={run}")
    until(lambda: page.evaluate(SHOWN)["rows"] == 100, 20, "the history")
    page.evaluate(CATCH)
    last = 0
    for sequence in range(2, 42):
        first = 100 + BATCH * (sequence - 2)
        last = first + BATCH - 1
        told = [event(step) for step in range(last - EVENTS + 1, last + 1)]
        shared.push(run, sequence, points(first, BATCH), told)

    def arrived() -> list[dict[str, int]]:
        kept: list[dict[str, int]] = page.evaluate(KEPT)
        return [each for each in kept if each["last"] == last and each["newest"] == last]

    (kept,) = until(arrived, 30, "the last point")
    assert kept["rows"] <= ROWS
    assert kept["columns"] <= ROWS
    assert kept["events"] == KEEP_EVENTS
    for each in page.evaluate(KEPT):
        assert each["rows"] <= ROWS
        assert each["events"] <= KEEP_EVENTS
        assert each["names"] <= 7
    shown = page.evaluate(SHOWN)
    assert shown["elements"] < 3_000
    assert shown["rows"] <= ROWS
    assert shown["shapes"] <= 40


def weight(streams: stream.Streams) -> tuple[int, int]:
    """How many answers are kept for streams to share, and their bytes."""
    told = [each for _, each in streams._shared.values()]
    contents = [content for each in told if isinstance(each, tuple) for _, content in each[0]]
    return len(told), sum(map(sys.getsizeof, contents))


def test_a_night_leaves_the_service_as_small_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it keeps for streams to share is what was told in the last seconds."""
    now = 1_000.0
    clock = SimpleNamespace(monotonic=lambda: now, time=time.time)
    monkeypatch.setattr(stream, "time", clock)
    streams, runs = stream.Streams(4), Runs(MemoryStore())
    source, cursor = RunSource("a", runs, streams), ""
    heaviest = {}
    for sequence in range(1, 3_001):
        now += stream.POLL_SECONDS
        found = TrainingEvent(sequence, 1.0 + sequence, "loss_rise", "critical", "!" * 100)
        values = {f"value-{at}": float(sequence) for at in range(20)}
        runs.push("a", Push(sequence, (Point(sequence, 1.0 + sequence, values),), (found,)))
        told, cursor = source.changes(cursor)
        assert told
        part = sequence // 1_001
        heaviest[part] = max(heaviest.get(part, (0, 0)), weight(streams))
    assert heaviest[0][0] > 10
    assert heaviest[2][0] <= heaviest[0][0]
    assert heaviest[2][1] <= 1.1 * heaviest[0][1]
