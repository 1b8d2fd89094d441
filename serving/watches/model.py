"""The watch over one model: all that is known of its versions, as conditions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from driftline.metadata.thresholds import Thresholds

from ..alerts.condition import Condition, from_breaches, from_verdict
from ..alerts.tolerance import Tolerance
from ..evaluation.judging import Caught, noted
from ..known import Known, Version, known
from ..stores.store import Store
from . import counted, performance, window
from .first import is_first_served
from .recent import Added, Recent

# A verdict that nobody renews any more says nothing about now.
FRESH_SECONDS = 60
# The evaluator writes each 5 s; so long it may take to move to another worker.
LATE_SECONDS = 30


class ModelWatch:
    """Conditions of one model, of all its versions that are served.

    Args:
        store: shared by all workers.
        own: the model and version that are served here.
        tolerance: how much is too much.
        limits: of the version that is served here, for sentences.
        caught: is told of a look that failed; what the others see is told all the same.
        clock: gives the Unix second at which this process began to serve.
    """

    def __init__(
        self,
        store: Store,
        own: Version,
        *,
        tolerance: Tolerance,
        limits: Thresholds,
        caught: Caught = noted,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._own = own
        self._tolerance = tolerance
        self._limits = limits
        self._caught = caught
        self._recent: dict[Version, Recent] = {}
        self._began: float | None = None
        self._started = clock()

    def __call__(self, now: float) -> list[Condition]:
        """What holds at `now`.

        Raises:
            StoreError: the store is away.
        """
        self._began = now if self._began is None else min(self._began, now)
        found: list[Condition] = []
        for version, each in known(self._store, self._own, now).items():
            if version[0] != self._own[0]:
                continue
            found += self._of(version, each, now)
        return found

    def _growth(self, version: Version, each: Known, now: float) -> Mapping[str, Added] | None:
        recent = self._recent.get(version)
        if recent is None:
            recent = Recent()
            # The store counts since ever, and by the first turn the first burst is in it.
            if is_first_served(self._store, version, self._started):
                recent.growth({}, self._started)
            self._recent[version] = recent
        return recent.growth(each.counters, now)

    def _of(self, version: Version, each: Known, now: float) -> list[Condition]:
        looks: list[Look] = []
        standing, own, tolerance = each.standing, version == self._own, self._tolerance
        if standing is not None and now - standing.at <= FRESH_SECONDS:
            told, limits = standing, self._limits if own else None
            looks += [
                lambda: [from_verdict(told.verdict, *version, told.width)],
                lambda: [from_breaches(told.verdict, *version)],
                lambda: [window.low_confidence(told, version, tolerance, limits)],
                lambda: [window.slow(told, version, tolerance, limits)],
                lambda: [window.failed(told, version, tolerance)],
                lambda: performance.conditions(told, version, tolerance),
            ]
        growth = self._growth(version, each, now)
        if own or looks:
            looks.append(lambda: [counted.misfits(growth, version, tolerance)])
            looks.append(lambda: [counted.faults(growth, version)])
        if own:
            at = None if standing is None else standing.at
            looks.append(lambda: [self._evaluated(at, now)])
        found: list[Condition] = []
        for look in looks:
            # What cannot be looked at is unknown, and its alert stays as it is.
            try:
                found += look()
            except Exception as error:
                self._caught("watch", error)
        return found

    def _evaluated(self, at: int | None, now: float) -> Condition:
        """Verdicts that come no more, although the store is there."""
        began = now if self._began is None else self._began
        last = began if at is None else max(float(at), began)
        late = now - last
        return Condition(
            kind="health",
            model=self._own[0],
            version=self._own[1],
            name="evaluator",
            firing=late > LATE_SECONDS,
            severity="major",
            since=last,
            sentence_en=f"No verdict was written for {late:.0f} s; drift goes unseen meanwhile.",
            sentence_zh=f"已有 {late:.0f} 秒没有新的判定,期间的漂移不会被发现。",
        )


Look = Callable[[], list[Condition]]
Watch = Callable[[float], list[Condition]]
"""Says what holds at a Unix second."""
