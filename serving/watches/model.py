"""The watch over one model: all that is known of its versions, as conditions."""

from __future__ import annotations

from collections.abc import Callable

from driftline.metadata.thresholds import Thresholds

from ..alerts.condition import Condition, from_breaches, from_verdict
from ..alerts.tolerance import Tolerance
from ..known import Known, Version, known
from ..stores.store import Store
from . import counted, performance, window
from .recent import Recent

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
    """

    def __init__(
        self,
        store: Store,
        own: Version,
        *,
        tolerance: Tolerance,
        limits: Thresholds,
    ) -> None:
        self._store = store
        self._own = own
        self._tolerance = tolerance
        self._limits = limits
        self._recent: dict[Version, Recent] = {}
        self._began: float | None = None

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

    def _of(self, version: Version, each: Known, now: float) -> list[Condition]:
        found: list[Condition] = []
        standing, own = each.standing, version == self._own
        if standing is not None and now - standing.at <= FRESH_SECONDS:
            limits = self._limits if own else None
            found += [
                from_verdict(standing.verdict, *version, standing.width),
                from_breaches(standing.verdict, *version),
                window.low_confidence(standing, version, self._tolerance, limits),
                window.slow(standing, version, self._tolerance, limits),
                window.failed(standing, version, self._tolerance),
            ]
            found += performance.conditions(standing, version, self._tolerance)
        growth = self._recent.setdefault(version, Recent()).growth(each.counters, now)
        if own or found:
            found.append(counted.misfits(growth, version, self._tolerance, now))
            found.append(counted.faults(growth, version, now))
        if own:
            found.append(self._evaluated(None if standing is None else standing.at, now))
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


Watch = Callable[[float], list[Condition]]
"""Says what holds at a Unix second."""
