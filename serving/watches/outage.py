"""The watch over the store: alerts lie in it, so an outage is told when it is over."""

from __future__ import annotations

from ..alerts.alert import moment
from ..alerts.condition import Condition
from ..known import Version

# Shorter ones are a restart that nobody needs to hear of: counts wait, and nothing is lost.
WORTH_SECONDS = 30.0
# How long an outage is told of as one that goes on, so that its alert has begun before it ends.
TOLD_SECONDS = 30.0


class Outage:
    """Remembers since when this process could not reach the store.

    Prometheus sees an outage while it lasts, by ``driftline_store_up``.
    """

    def __init__(self, version: Version) -> None:
        self._version = version
        self._since: float | None = None
        self._last: tuple[float, float] | None = None

    def missed(self, now: float) -> None:
        """The store could not be reached."""
        self._since = now if self._since is None else min(self._since, now)

    def reached(self, now: float) -> Condition:
        """The store was reached; the condition says whether an outage has just ended."""
        if self._since is not None and now - self._since >= WORTH_SECONDS:
            self._last = self._since, now
        self._since = None
        since, until = self._last or (now, now)
        lasted = f"{until - since:.0f}"
        times = f"{moment(since):%H:%M:%S}–{moment(until):%H:%M:%SZ}"
        return Condition(
            kind="health",
            model=self._version[0],
            version=self._version[1],
            name="store",
            firing=self._last is not None and now - until < TOLD_SECONDS,
            since=since,
            sentence_en=(
                f"The shared state could not be reached for {lasted} s ({times}); counts waited "
                "and were handed over, no verdict was written meanwhile."
            ),
            sentence_zh=(
                f"共享存储有 {lasted} 秒无法访问({times});计数已等待并补交,期间没有新的判定。"
            ),
        )
