"""The verdict over a span of the past, judged anew from the counts that the store still has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from driftline.drift.latency import Latency
from driftline.drift.thresholds import kept_by
from driftline.metadata.counts import Counts
from driftline.metadata.errors import InputError
from driftline.metadata.host import host_fingerprint
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.thresholds import Thresholds

from ..feedback.joining import LABELS, pairs
from ..series import SLOW_BUCKET, Series
from ..service_signals import SERVICE
from ..stores.store import Store
from .judging import Facts, stand
from .performance import Performance
from .standing import Standing
from .times import unix


@dataclass(frozen=True, slots=True)
class Span:
    """The buckets of `width` seconds that begin in ``[since, until)``, in Unix seconds."""

    width: int
    since: int
    until: int

    @classmethod
    def of(cls, since: str | None, until: str | None, series: Series, now: float) -> Span:
        """From ISO times; left out, `since` is as old as counts are kept, and `until` is now.

        The fast ring's buckets where it reaches back so far, else the slow ring's: so there are
        never more buckets than a ring has.

        Raises:
            InputError: a time cannot be read, or the span ends before it begins.
        """
        oldest = int(now) // SLOW_BUCKET * SLOW_BUCKET - series.widths[SLOW_BUCKET] + SLOW_BUCKET
        since_s = oldest if since is None else unix(since, "from")
        until_s = int(now) + 1 if until is None else unix(until, "to")
        if since is not None and until is not None and since_s >= until_s:
            raise InputError("to", "must be later than from")
        width = series.bucket
        if since_s < int(now) // width * width - series.widths[width] + width:
            width = SLOW_BUCKET
        # The bucket in which the span begins belongs to it.
        begin = max(since_s, oldest) // width * width
        return cls(width, begin, max(begin, min(until_s, int(now) + 1)))

    def standing(
        self,
        metadata: ModelMetadata,
        series: Series,
        store: Store,
        *,
        thresholds: Thresholds,
        latest: Standing | None,
        now: float,
    ) -> Standing:
        """How things stood by these buckets alone; only the totals are of the `latest` standing.

        What a state was before the span plays no part, so one that held on from an older alarm
        is not repeated here. Whole hours within it are judged beside its minutes, as they are
        now. Latency is compared with the baseline of the `latest` standing, never with a stretch
        of the span itself; labels are those that came in the hours that the span touches.

        Raises:
            StoreError: the counts cannot be read just now.
        """
        own = Series(series.base, self.width)
        layout = metadata.reference.layout
        found: Mapping[int, Counts] = store.read(
            own.model(self.width), layout, self.since, self.until
        )
        service = store.read(own.service(self.width), SERVICE, self.since, self.until)
        usual = latest.performance.latency.usual if latest else None
        facts = Facts(
            found,
            self._hours(series, store, metadata, now),
            service,
            {},
            self._labels(series, store),
            host=usual.host if usual else host_fingerprint(),
            learns=False,
        )
        told = stand(
            metadata,
            own,
            facts,
            thresholds=kept_by(thresholds, self.width),
            before=None,
            now=now,
            performance=Performance(latency=Latency(usual=usual)),
        )
        begun = told.verdict.onset or told.verdict.window_from or self.since
        return replace(
            told,
            since=begun,
            total=latest.total if latest else 0,
            dropped=latest.dropped if latest else {},
        )

    def _hours(
        self, series: Series, store: Store, metadata: ModelMetadata, now: float
    ) -> Mapping[int, Counts]:
        """The slow ring's buckets that lie wholly within a span of the fast one's."""
        if self.width == SLOW_BUCKET:
            return {}
        first = -(-self.since // SLOW_BUCKET) * SLOW_BUCKET
        # The hour that is not over yet has nothing beyond now.
        last = self.until if self.until > int(now) else self.until // SLOW_BUCKET * SLOW_BUCKET
        layout = metadata.reference.layout
        return store.read(series.model(SLOW_BUCKET), layout, first, last) if first < last else {}

    def _labels(self, series: Series, store: Store) -> dict[int, tuple[int, int]]:
        first = self.since // SLOW_BUCKET * SLOW_BUCKET
        return pairs(store.read(series.labels, LABELS, first, self.until))
