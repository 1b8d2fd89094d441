"""Sensitivity: the smallest changes a monitor sees, simulated from its reference alone.

A monitor that says what it cannot see is worth more than one that is quiet about it. "Seen" means
that the signal by itself gives the evidence that a verdict asks for, under the promise on false
alarms and beside all the other signals; whether such a change is worth attention is the floor's
business. Real verdicts add the evidence of earlier starts, and see a little more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from driftline.metadata.reference import Reference, SignalReference
from driftline.metadata.schema import Sensitivity, SensitivityRow
from driftline.metadata.thresholds import Thresholds

from .bench import Bench
from .change import Change, change_of, exchange, rise
from .detector import weights
from .panel import Panel
from .thresholds import alpha_of, rule_of

REQUESTS = (100, 1_000, 10_000)
POWER = 0.9
STREAMS = 200
# So many streams of all signals together; with more than 200 signals each has fewer, at least 60.
ALL_STREAMS = 40_000
# The sizes that are tried, each a tenth above the one before: shifts in σ, and shares.
SHIFTS = np.geomspace(0.01, 10.0, 74)
RATES = np.geomspace(0.0005, 1.0, 81)
HOUR = 3600
# False alarms are looked for at this level too, since at the budget none is to be expected.
LOOSE = 0.01
QUIET_STREAMS = 2_000
LOOKS = np.unique(np.geomspace(5, 10_000, 25).astype(np.int64))
# Cells that one simulation may hold at a time.
ROOM = 2_000_000


@dataclass(frozen=True, eq=False)
class _Case:
    """Signals that one simulation stands for, at `places` of the reference; ln E that is asked."""

    places: tuple[int, ...]
    signal: SignalReference
    change: Change
    inflation: float
    demand: float

    @property
    def shifts(self) -> bool:
        """True where the size of the change is a shift of the mean."""
        return self.change is not rise and self.change is not exchange


def sensitivity(
    reference: Reference,
    thresholds: Thresholds | None = None,
    *,
    seed: int = 0,
    width: int = 60,
) -> Sensitivity:
    """What verdicts on buckets of `width` seconds can see of each signal, in the reference's order.

    For each signal and number of requests the smallest change that 180 of 200 simulated streams
    show (of fewer streams, from 200 different signals on); of shifts in the direction that is
    harder to see. 0.01 σ and 0.0005 are the smallest that are tried. One seed gives one answer.

    Raises:
        SettingError: the thresholds promise what buckets of that width cannot hold.
    """
    thresholds = thresholds or Thresholds()
    alpha = alpha_of(thresholds, width)
    cases = _cases(reference, thresholds, alpha, width)
    random = np.random.default_rng(seed)
    rows: dict[int, SensitivityRow] = {}
    streams = max(60, min(STREAMS, ALL_STREAMS // max(len(cases), 1)))
    for together in _batches(cases, streams):
        bench = _bench(together, streams, random)
        for case, found in zip(together, _smallest(bench, together), strict=True):
            sizes = (found, {}) if case.shifts else ({}, found)
            for place in case.places:
                rows[place] = SensitivityRow(reference.signals[place].name, *sizes)
    streams = max(20, -(-QUIET_STREAMS // max(len(cases), 1)))
    alarms, loose = _false_alarms(cases, streams, random)
    return Sensitivity(
        seed=seed,
        power=POWER,
        alpha=alpha,
        false_alarm_share=alarms,
        loose_level=LOOSE,
        loose_share=loose,
        streams=streams * len(cases),
        rows=tuple(rows[place] for place in sorted(rows)),
    )


def _cases(reference: Reference, thresholds: Thresholds, alpha: float, width: int) -> list[_Case]:
    """What is to be simulated: a rate's evidence depends on its weights only, so like ones join."""
    fast, _ = weights(width, HOUR if width < HOUR else None, alpha)
    demands = -np.log(alpha) - np.log(Panel.of(reference).shares) - fast
    columns = {(each.group, each.name): each for each in reference.columns}
    alike: dict[tuple[str, object, float, float], list[int]] = {}
    for place, each in enumerate(reference.signals):
        inflation = rule_of(thresholds, each).inflation or 1.0
        law = place if each.signal.kind == "continuous" else each.weights
        key = (each.signal.kind, law, inflation, float(demands[place]))
        alike.setdefault(key, []).append(place)
    cases = []
    for (_, _, inflation, demand), places in alike.items():
        each = reference.signals[places[0]]
        change = change_of(each, columns[each.signal.group, each.signal.column])
        cases.append(_Case(tuple(places), each, change, inflation, demand))
    return cases


def _batches(cases: Sequence[_Case], streams: int) -> Iterator[list[_Case]]:
    """Cases alike in kind, change and number of cells, as many at a time as there is room for."""
    alike: dict[tuple[str, bool, int], list[_Case]] = {}
    for case in cases:
        key = (case.signal.signal.kind, case.shifts, len(case.signal.weights))
        alike.setdefault(key, []).append(case)
    for (_, _, cells), several in alike.items():
        most = max(1, ROOM // (cells * streams))
        for start in range(0, len(several), most):
            yield several[start : start + most]


def _bench(cases: Sequence[_Case], streams: int, random: np.random.Generator) -> Bench:
    inflation = np.array([case.inflation for case in cases])
    return Bench([case.signal for case in cases], inflation, streams, random)


def _smallest(bench: Bench, cases: Sequence[_Case]) -> list[dict[str, float | None]]:
    """By number of requests the smallest size that is seen, None where none is; of each case."""
    sizes, signs = (SHIFTS, (1.0, -1.0)) if cases[0].shifts else (RATES, (1.0,))
    demand = np.array([case.demand for case in cases])
    changes = [case.change for case in cases]
    found: list[dict[str, float | None]] = [{} for _ in cases]
    most = np.full(len(cases), len(sizes))
    for requests in REQUESTS:
        low, high = np.zeros_like(most), most
        while (low < high).any():
            middle = (low + high) // 2
            tried = sizes[np.minimum(middle, len(sizes) - 1)]
            powers = [bench.power(changes, sign * tried, requests, demand) for sign in signs]
            enough = np.min(powers, axis=0) >= POWER
            open_ = low < high
            high = np.where(open_ & enough, middle, high)
            low = np.where(open_ & ~enough, middle + 1, low)
        for each, at in zip(found, high.tolist(), strict=True):
            each[str(requests)] = float(f"{sizes[at]:.3g}") if at < len(sizes) else None
        most = high  # more requests see no less
    return found


def _false_alarms(
    cases: Sequence[_Case], streams: int, random: np.random.Generator
) -> tuple[float, float]:
    """Shares of streams without a change that ever reach what is asked, and the loose level."""
    alarms = loose = 0
    for together in _batches(cases, streams):
        highest = _bench(together, streams, random).highest(LOOKS)
        alarms += int((highest >= np.array([case.demand for case in together])[:, None]).sum())
        loose += int((highest >= -np.log(LOOSE)).sum())
    total = max(streams * len(cases), 1)
    return alarms / total, loose / total
