"""A new reference from a stable stretch of traffic, made of counts alone. Pure.

No row is kept, so the cells stay those of the present reference, chosen before this traffic came.
Their unknown probabilities are then Dirichlet with the counts plus one half a cell (Krichevsky and
Trofimov 1981). Traffic that comes in bursts tells less than its number of rows: its counts are
divided by the inflation that the judge found, or the new reference would seem surer than it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from driftline.drift.judge import judge
from driftline.drift.ring import Ring
from driftline.drift.thresholds import kept_by
from driftline.drift.verdict import Verdict
from driftline.metadata.counts import Counts
from driftline.metadata.errors import DriftlineError
from driftline.metadata.moments import COUNT, HIGH, LOW, M2, MEAN
from driftline.metadata.reference import ColumnReference, Reference
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.thresholds import Thresholds

from .timeline import Point
from .times import iso

LEAST_ROWS = 1_000
# As for a reference from rows: with fewer values a column has no distribution.
LEAST_VALUES = 8
FIRED = ("warning", "drift")


class Unsuited(DriftlineError):
    """This traffic makes no reference; `code` is ``not_stable`` or ``too_few_rows``."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole buckets of `width` seconds from Unix second `since` until `until`, and their sum."""

    width: int
    since: int
    until: int
    counts: Counts
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Audit:
    """Who asked (in words), at which Unix second, and the digest of the package before."""

    by: str
    at: float
    digest: str


def quiet_since(points: Sequence[Point], *, whole: bool) -> int:
    """The Unix second after which no verdict was anything but quiet.

    `whole` says that `points` reach back to the first verdict; else nothing older is known well.
    """
    fired = [point.at for point in points if point.state in FIRED]
    oldest = 0 if whole or not points else points[0].at
    return max([oldest, *fired])


def stretch(
    reference: Reference,
    rings: Mapping[int, Mapping[int, Counts]],
    after: int,
    thresholds: Thresholds,
) -> Stretch:
    """The buckets that begin after Unix second `after`, of the ring that has most rows of them.

    `rings` maps the seconds of a bucket to the counts by the beginning of each.

    Raises:
        Unsuited: there are too few rows, or by themselves they are not stable.
    """
    chosen = {
        width: {start: each for start, each in ring.items() if start > after}
        for width, ring in rings.items()
    }
    width = max(chosen, key=lambda width: _rows(chosen[width]))
    buckets = chosen[width]
    total = reference.layout.zeros()
    for each in buckets.values():
        total = total + each
    for group, rows in zip(total.layout.groups, total.rows.tolist(), strict=True):
        if rows < LEAST_ROWS:
            reason = f"{rows:,} rows of {group} since {iso(after)}; {LEAST_ROWS:,} are wanted"
            raise Unsuited("too_few_rows", reason)
    for signal in total.layout.signals:
        if (values := int(total.of(signal.name).sum())) < LEAST_VALUES:
            raise Unsuited("too_few_rows", f"{signal.name!r} has {values} values in the stretch")
    verdict = judge(reference, Ring.of(width, buckets), thresholds=kept_by(thresholds, width))
    if verdict.state != "stable":
        raise Unsuited("not_stable", f"the stretch by itself is {verdict.state}")
    return Stretch(width, min(buckets), max(buckets) + width, total, verdict)


def refreshed(metadata: ModelMetadata, found: Stretch, version: str, audit: Audit) -> ModelMetadata:
    """The metadata of the new version: its reference is the stretch, and `notes` say so.

    What the simulation said of the old reference's sensitivity is not true of the new one, and is
    left out. So is how its signals vary together, which counts do not tell. Everything else, the
    quality on held-out data included, is about the model.
    """
    reference = metadata.reference
    inflation = {each.name: max(each.inflation, 1.0) for each in found.verdict.signals}
    signals = []
    for each, cells in reference.cells(found.counts):
        weights = cells / inflation[each.name] + 0.5
        signals.append(replace(each, weights=tuple(weights.tolist()), rows=int(cells.sum())))
    rows = zip(found.counts.layout.groups, found.counts.rows.tolist(), strict=True)
    note = (
        f"Reference refreshed at {iso(int(audit.at))} by {audit.by}: production traffic from "
        f"{iso(found.since)} to {iso(found.until)}, stable, "
        f"{', '.join(f'{count:,} rows of {group}' for group, count in rows)}. Before it: version "
        f"{metadata.model.version}, package {audit.digest}. Sensitivity was not simulated anew"
        f"{', and signals are not judged together' if reference.multivariates else ''}."
    )
    return replace(
        metadata,
        created=str(iso(int(audit.at))),
        model=replace(metadata.model, version=version),
        reference=Reference(
            "production",
            reference.seed,
            tuple(_column(each, found.counts) for each in reference.columns),
            tuple(signals),
        ),
        sensitivity=None,
        notes=(*metadata.notes, note),
    )


def _rows(buckets: Mapping[int, Counts]) -> int:
    return sum(int(each.rows.sum()) for each in buckets.values())


def _column(before: ColumnReference, counts: Counts) -> ColumnReference:
    moments = counts.moments[counts.layout.rows[before.group, before.name]]
    n = int(moments[COUNT])
    if not n:
        return replace(before, count=0, mean=None, sd=None, low=None, high=None)
    return replace(
        before,
        count=n,
        mean=float(moments[MEAN]),
        sd=math.sqrt(float(moments[M2]) / max(n - 1, 1)),
        low=float(moments[LOW]),
        high=float(moments[HIGH]),
    )
