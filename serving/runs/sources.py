"""What streams watch: runs and their points, and anything else that has a version."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

import msgspec

from ..stream import Streams
from .runs import Runs
from .summary import Summary
from .wire import columns, event, overview

# Beyond so many batches a client that comes back gets the whole, down-sampled, instead of each.
MOST_MISSED = 500
LIST_SECONDS = 1.0

Changes = tuple[list[tuple[str, bytes]], str]


class RunSource:
    """The points and events of one run: ``history`` first, down-sampled, then ``points``.

    Names that begin with `without` are left out of the history, not of what follows.
    """

    def __init__(
        self, run: str, runs: Runs, streams: Streams, *, bins: int = 1_000, without: str = ""
    ) -> None:
        self.name = f"run:{run}"
        self._run = run
        self._runs = runs
        self._streams = streams
        self._bins = bins
        self._without = without
        self._begun = False

    def changes(self, cursor: str) -> Changes:
        """``history`` from an empty cursor, or one that is too old; else ``points``."""
        life, _, after = cursor.partition(":")
        if not after.isdigit() or not self._goes_on(life, int(after)):
            return self._whole()
        return self._streams.shared((self.name, cursor), lambda: self._new(life, int(after)))

    def _goes_on(self, life: str, after: int) -> bool:
        """Whether what came after can be told one by one."""
        if not self._begun:
            self._begun = True
            summary = self._runs.summary(self._run)
            # A smaller entry: the state was lost.
            return summary is not None and after <= summary.entry <= after + MOST_MISSED
        newest = self._streams.shared(
            (f"life:{self._run}",), lambda: self._runs.life(self._run), LIST_SECONDS
        )
        return newest is None or newest == life

    def _new(self, life: str, after: int) -> Changes:
        news = self._runs.news(self._run, life, after)
        if news.after == after:
            return [], f"{life}:{after}"
        told = {
            "run": self._run,
            "life": life,
            "after": news.after,
            **columns(news.rows),
            "events": [event(each) for each in news.events],
        }
        return [("points", msgspec.json.encode(told))], f"{life}:{news.after}"

    def _whole(self) -> Changes:
        self._begun = True
        summary = self._runs.summary(self._run)
        if summary is None:
            return [], ""
        return self._streams.shared(
            ("history", self._run, self._bins, self._without, summary.life, summary.entry),
            lambda: self._history(summary),
        )

    def _history(self, summary: Summary) -> Changes:
        names = [
            name
            for name in summary.latest
            if not (self._without and name.startswith(self._without))
        ]
        rows = self._runs.rows(self._run, summary, names, 0, 2**53).binned(self._bins)
        told = {
            **overview(self._run, summary, time.time()),
            "life": summary.life,
            "after": summary.entry,
            "names": list(summary.latest),
            **columns(rows),
            "events": [event(each) for each in self._runs.events(self._run, summary.life)],
        }
        return [("history", msgspec.json.encode(told))], f"{summary.life}:{summary.entry}"


class Topic:
    """Anything that is told whole whenever it changes: event `name`, content as JSON.

    It is asked for at most every `seconds`, by all streams of the process together.
    """

    def __init__(
        self, name: str, read: Callable[[], Any], streams: Streams, *, seconds: float = LIST_SECONDS
    ) -> None:
        self.name = name
        self._read = read
        self._streams = streams
        self._seconds = seconds

    def changes(self, cursor: str) -> Changes:
        """The whole, when it is another than that of the cursor."""
        content, version = self._streams.shared((self.name,), self._now, self._seconds)
        return ([], cursor) if version == cursor else ([(self.name, content)], version)

    def _now(self) -> tuple[bytes, str]:
        content = msgspec.json.encode(self._read())
        return content, hashlib.sha256(content).hexdigest()[:16]


def run_list(runs: Runs) -> list[dict[str, Any]]:
    """All runs, the one heard of last first."""
    now = time.time()
    told = [
        overview(name, summary, now)
        for name in runs.names()
        if (summary := runs.summary(name)) is not None
    ]
    return sorted(told, key=lambda each: str(each["received"]), reverse=True)
