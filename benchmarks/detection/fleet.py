"""A fleet: many independent streams of counts, looked at together exactly as `judge` looks at one.

The signals of all streams stand side by side in one panel, and the room's own functions compute
their evidence in one go. `judge` calls a stream only when the mean evidence of its signals reaches
1/α (a named signal implies it), so a fleet looks at that mean, and asks `judge` itself about each
stream that reaches it: a call is always one of `judge`, and a stream passed over is one that
`judge` would have passed over. Only its words and effect sizes are saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from driftline.drift import Ring, judge
from driftline.drift.detector import trace, weights
from driftline.drift.inflation import Inflation, ceiling, inflations
from driftline.drift.panel import Panel
from driftline.metadata.reference import Multivariate, Reference, SignalReference
from driftline.metadata.signals import Floats, Ints
from driftline.metadata.thresholds import Thresholds

WIDTH = 60
HOUR = 3600
RING = 60
END = 1_700_000_000 - 1_700_000_000 % HOUR
CALLED = ("warning", "drift")


def promise(alpha: float) -> Thresholds:
    """Thresholds that allow `alpha` false alarms a bucket."""
    return Thresholds(false_alarms=f"1 per {round(WIDTH / alpha)}s")


class Fleet:
    """Streams with a reference each, each of signals of its own."""

    def __init__(self, references: Sequence[Reference]) -> None:
        self.references = tuple(references)
        self.sizes = [each.layout.total for each in references]
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        signals, columns, many = [], [], []
        for index, reference in enumerate(references):
            signals += [_renamed(each, index) for each in reference.signals]
            columns += [replace(each, name=f"{index}/{each.name}") for each in reference.columns]
            many += [_many_renamed(each, index) for each in reference.multivariates]
        whole = Reference("held_out", 0, tuple(columns), tuple(signals), tuple(many))
        self._panel = Panel(whole)
        # Each stream tells its own bursts.
        numbers = [len(each.signals) for each in references]
        self._panel.pools = np.repeat(np.arange(len(references)), numbers)
        # All signals come first, then all that are looked at together; here stream by stream.
        together = [len(each.multivariates) for each in references]
        owner = np.concatenate(
            [np.repeat(np.arange(len(references)), n) for n in (numbers, together)]
        )
        self._order = np.argsort(owner, kind="stable")
        self._starts = np.cumsum([0, *np.add(numbers, together)[:-1].tolist()])
        self._log_shares = np.log(np.concatenate([Panel.of(each).shares for each in references]))
        self._assumed = Inflation.of(self._panel, np.ones(self._panel.signals))

    def __len__(self) -> int:
        return len(self.references)

    def log_m(self, look: Look, alpha: float | None = None) -> Floats:
        """ln M of all members of all streams, ``[members]``, stream by stream.

        With a slow ring α has a part in it, since it says what a start in each ring weighs.
        """
        fast = look.ring(WIDTH)
        slow = None if look.slow is None or alpha is None else look.ring(HOUR)
        # As certain as can be: how uncertain F is, `judge` reckons with.
        every = np.ones(self._panel.size, dtype=bool)
        factor, slower = (
            each.certain(every) for each in inflations(self._panel, fast, slow, self._assumed)
        )
        if slow is None or alpha is None:
            found = trace(self._panel, fast, factor, 0.0).later[:, 0]
        else:
            first, second = weights(WIDTH, HOUR, alpha)
            limit = ceiling(self._panel, slow)
            found = np.logaddexp(
                trace(self._panel, fast, factor, first, limit).later[:, 0],
                trace(self._panel, slow, slower, second).later[:, 0],
            )
        return np.asarray(found[self._order])

    def joint(self, look: Look, alpha: float | None = None) -> Floats:
        """ln of the mean M of each stream's members, ``[streams]``."""
        log_m = self.log_m(look, alpha)
        return np.asarray(np.logaddexp.reduceat(log_m + self._log_shares, self._starts))

    def called(self, stream: int, look: Look, alpha: float) -> bool:
        """Whether `judge` calls this stream drifted at this look."""
        own = look.part(slice(self.offsets[stream], self.offsets[stream + 1]))
        layout = self.references[stream].layout
        shape = len(layout.groups), len(layout.rows)
        slow = None if look.slow is None else own.ring(HOUR, *shape)
        verdict = judge(
            self.references[stream],
            own.ring(WIDTH, *shape),
            thresholds=promise(alpha),
            slow=slow,
        )
        return verdict.state in CALLED


@dataclass(frozen=True)
class Look:
    """Counts at one moment: those of the last buckets, ``[B, total]``, and of the last hours."""

    cells: Ints
    slow: Ints | None = None

    @classmethod
    def at(cls, cells: Ints, last: int) -> Look:
        """The fast ring at the end of bucket `last` of ``[buckets, total]``."""
        return cls(cells[max(last + 1 - RING, 0) : last + 1])

    def part(self, where: slice) -> Look:
        """The same of some cells only."""
        return Look(self.cells[:, where], None if self.slow is None else self.slow[:, where])

    def ring(self, width: int, groups: int = 1, columns: int = 0) -> Ring:
        """As the room wants it; moments and numbers of rows, which no evidence reads, are 0."""
        cells = self.slow if width == HOUR else self.cells
        assert cells is not None
        starts = END - width * np.arange(len(cells), dtype=np.int64)[::-1]
        rows = np.zeros((len(cells), groups), np.int64)
        return Ring(width, starts, cells, rows, np.zeros((len(cells), columns, 5)))


def alarms(fleet: Fleet, cells: Ints, alphas: Sequence[float], first: int = 0) -> Ints:
    """The bucket of each stream's first alarm at each α, ``[alphas, streams]``; -1 for none.

    `cells` is ``[buckets, total]``; each bucket's end is one look, at the last `RING` buckets.
    Looks before bucket `first` are not taken.
    """
    found = np.full((len(alphas), len(fleet)), -1)
    for at in range(first, len(cells)):
        look = Look.at(cells, at)
        joint = fleet.joint(look)
        for row, alpha in enumerate(alphas):
            for stream in np.flatnonzero((found[row] < 0) & (joint >= -np.log(alpha) - 1e-9)):
                if fleet.called(int(stream), look, alpha):
                    found[row, stream] = at
    return found


def count(reference: Reference, matrix: Floats, rows: int) -> Ints:
    """Counts of a matrix ``[buckets * rows, columns]`` by bucket, ``[buckets, layout.total]``.

    What `layout.count` gives bucket by bucket, for references with one group.
    """
    layout, buckets = reference.layout, len(matrix) // rows
    which = np.repeat(np.arange(buckets), rows)
    found = np.zeros((buckets, layout.total), dtype=np.int64)
    names = [name for _, name in layout.rows]
    for signal, start in zip(layout.signals, layout.offsets[:-1].tolist(), strict=True):
        size = signal.partition.size
        cells = signal.partition.cells(matrix[:, names.index(signal.column)])
        there = cells >= 0
        flat = np.bincount(which[there] * size + cells[there], minlength=buckets * size)
        found[:, start : start + size] = flat.reshape(buckets, size)
    return found


def _many_renamed(each: Multivariate, index: int) -> Multivariate:
    names = tuple(f"{index}/{name}" for name in each.signals)
    return replace(each, name=f"{index}/{each.name}", signals=names)


def _renamed(each: SignalReference, index: int) -> SignalReference:
    signal = each.signal
    own = f"{index}/{signal.name}", f"{index}/{signal.column}"
    return replace(each, signal=replace(signal, name=own[0], column=own[1]))
