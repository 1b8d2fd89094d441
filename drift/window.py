"""A window: the fast and the slow ring seen together, signal by signal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.signals import Floats, Ints

from .detector import Trace, onset
from .effect import Effects, means
from .panel import Panel


@dataclass(frozen=True, eq=False)
class Place:
    """For each member a stretch of buckets up to now: which trace, and from which start on."""

    trace: Ints
    start: Ints

    def first(self, number: int) -> Place:
        """That of the first members only."""
        return Place(self.trace[:number], self.start[:number])


@dataclass(frozen=True, eq=False)
class Parts:
    """Stretches parted at each start of a ring, arrays ``[T, B]``.

    `psi` and `rate` (``[2, T, B]``, rates for flags only) are those before the start and from it
    on; `rows` and `log_m` (ln M of the starts from there on) belong to the recent part. `after`
    is False where the start does not lie inside the stretch; `starts` (``[B]``) are unix seconds.
    """

    psi: Floats
    rate: Floats
    rows: Floats
    log_m: Floats
    after: NDArray[np.bool_]
    starts: Ints


class Window:
    """Evidence and effects of all signals over one ring or two."""

    def __init__(self, panel: Panel, traces: tuple[Trace, ...], inflation: Floats) -> None:
        self.panel = panel
        self.traces = traces
        self.inflation = inflation

    @cached_property
    def log_m(self) -> Floats:
        """ln M of each signal, ``[T]``."""
        return np.asarray(np.logaddexp.reduce([each.later[:, 0] for each in self.traces], axis=0))

    @cached_property
    def rows(self) -> Floats:
        """Values of each signal in the ring that has most, ``[T]``."""
        return np.asarray(np.max([_first(each.rows) for each in self.traces], axis=0))

    def whole(self) -> Place:
        """The whole of the fast ring; of the slow one for signals that have nothing there."""
        empty = _first(self.traces[0].rows) == 0
        which = np.where(empty, len(self.traces) - 1, 0)
        return Place(which, np.zeros(self.panel.size, dtype=np.int64))

    def onset(self) -> Place:
        """The stretch with the largest E of each signal."""
        return self._best([each.log_e for each in self.traces])

    def joint_onset(self, log_shares: Floats) -> tuple[int, int]:
        """The bucket with the largest mean of E from it on, under those ln shares: its start in
        unix seconds, and its length."""
        joint = [np.logaddexp.reduce(each.log_e + log_shares[:, None]) for each in self.traces]
        best = self._best([each[None, :] for each in joint])
        ring = self.traces[int(best.trace[0])].ring
        return int(ring.starts[best.start[0]]), ring.width

    def parted(self, place: Place) -> list[Parts]:
        """Each stretch parted at every start after its own, one `Parts` for each trace."""
        return [self._parts(each, place) for each in self.traces if len(each.ring)]

    def _parts(self, trace: Trace, place: Place) -> Parts:
        psi, rate = np.zeros((2, 2, self.panel.size, len(trace.ring)))
        for block, ruler in zip(self.panel.blocks, self.panel.rulers, strict=True):
            where = block.where
            recent = block.gather(trace.suffixes)
            whole = self.counts(place, block.cells, where)[:, None, :]
            for part, counts in enumerate((np.maximum(whole - recent, 0.0), recent)):
                psi[part, where] = ruler.corrected_psi(counts, self.inflation[where])
                if block.kind == "flag":
                    rate[part, where] = counts[..., 1] / np.maximum(counts.sum(axis=2), 1.0)
        for row, each in enumerate(self.panel.together, start=self.panel.signals):
            recent, factor = trace.suffixes, float(self.inflation[row])
            whole = self.flat(place, row)
            for part, counts in enumerate((np.maximum(whole - recent, 0.0), recent)):
                psi[part, row] = each.effect(counts, factor)
        later = [
            each.later[:, np.searchsorted(each.ring.starts, trace.ring.starts)]
            for each in self.traces
        ]
        after = trace.ring.starts > self.times(place)[:, None]
        return Parts(
            psi, rate, trace.rows, np.logaddexp.reduce(later, axis=0), after, trace.ring.starts
        )

    def times(self, place: Place) -> Ints:
        """Where each stretch begins, in unix seconds, ``[T]``."""
        found = np.zeros(self.panel.size, dtype=np.int64)
        for index, each in enumerate(self.traces):
            here = place.trace == index
            if here.any():
                found[here] = each.ring.starts[place.start[here]]
        return found

    def flat(self, place: Place, row: int) -> Floats:
        """All counts over the stretch of one member, ``[total]``."""
        trace = self.traces[int(place.trace[row])]
        if not len(trace.ring):
            return np.zeros(self.panel.total)
        return np.asarray(trace.suffixes[int(place.start[row])])

    def counts(self, place: Place, cells: Ints, where: Ints) -> Floats:
        """Counts in `cells` (``[n, K]``) over the stretches of the signals `where` (``[n]``)."""
        found = np.zeros(cells.shape)
        for index, each in enumerate(self.traces):
            here = place.trace[where] == index
            if len(each.ring) and here.any():
                starts = place.start[where][here][:, None]
                inside = np.minimum(cells[here], self.panel.total - 1)
                taken = each.suffixes[starts, inside]
                found[here] = np.where(cells[here] < self.panel.total, taken, 0.0)
        return found

    def measure(self, place: Place) -> Effects:
        """The effects of all signals over their stretches, in the order of the reference."""
        found = Effects.empty(self.panel.size)
        for block, ruler in zip(self.panel.blocks, self.panel.rulers, strict=True):
            counts = self.counts(place, block.cells, block.where)
            found.put(block.where, ruler(counts, self.inflation[block.where]))
        for row, each in enumerate(self.panel.together, start=self.panel.signals):
            flat = self.flat(place, row)
            found.psi[row] = each.effect(flat, float(self.inflation[row]))
            found.rows[row] = each.sums(flat)[1]
        return found

    def means(self, place: Place, columns: Ints) -> Floats:
        """Mean of a column over each signal's stretch; `columns` are rows of the moments."""
        found = np.full(len(place.trace), np.nan)
        for index, each in enumerate(self.traces):
            here = place.trace == index
            if len(each.ring) and here.any():
                found[here] = means(each.ring.moments)[place.start[here], columns[here]]
        return found

    def _best(self, log_e: list[Floats]) -> Place:
        # The fast ring knows the moment better: the slow one has to have more evidence, not equal.
        which = np.zeros(len(log_e[0]), dtype=np.int64)
        start = onset(log_e[0]) if log_e[0].shape[1] else which.copy()
        height = log_e[0].max(axis=1, initial=-np.inf)
        for index, each in enumerate(log_e[1:], start=1):
            # An empty ring has no place at all, even where the other's starts are forgotten.
            higher = (each.max(axis=1, initial=-np.inf) > height) | (log_e[0].shape[1] == 0)
            if higher.any() and each.shape[1]:
                which[higher], start[higher] = index, onset(each)[higher]
        return Place(which, start)


def _first(rows: Floats) -> Floats:
    return rows[:, 0] if rows.shape[1] else np.zeros(len(rows))
