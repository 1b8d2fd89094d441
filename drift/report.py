"""A report: what was found, written down as a `Verdict`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace

from driftline.metadata.reference import Reference, SignalReference
from driftline.metadata.signals import Categorical, Continuous, Floats, Ints

from .effect import Effects, severity, six_digits
from .episode import FIRED, recall
from .multivariate import Together
from .sentences import sentence
from .verdict import (
    NO_EVIDENCE,
    Breach,
    Effect,
    Language,
    MemberVerdict,
    MultivariateVerdict,
    SignalVerdict,
    State,
    Verdict,
)
from .window import Place, Window

V = TypeVar("V", bound=MemberVerdict)
# Of signals together so many are named.
MOVED = 5


@dataclass(frozen=True, eq=False)
class Finding:
    """All that is known of each member (arrays ``[T]``) and of all together.

    `onset` is the beginning of a bucket and how long it lasts, in seconds; `place` the stretch over
    which `effects` were measured; `quiet_since` is −∞ where no change has ended.
    """

    states: tuple[State, ...]
    state: State
    log_m: Floats
    joint_log_m: float
    onset: tuple[int, int] | None
    place: Place
    effects: Effects
    needed: Ints
    quiet_since: Floats


def report(
    window: Window,
    reference: Reference,
    finding: Finding,
    previous: Verdict | None,
    about: tuple[float, bool, tuple[Breach, ...], Language],
) -> Verdict:
    """The verdict; `about` is alpha, whether independence was assumed, breaches, language.

    An onset that was told before is kept where it lay before the ring's first bucket, for what
    began then still goes on, and where it lies within the bucket that is found now: an hour does
    not know the minute better.
    """
    alpha, independent, breaches, language = about
    ring = window.traces[0].ring
    oldest = (
        min(int(each.ring.starts[0]) for each in window.traces if len(each.ring))
        if any(len(each.ring) for each in window.traces)
        else 0
    )
    effects = _effects(window, reference, finding)
    times = window.times(finding.place) if window.rows.any() else np.zeros(window.panel.size)
    before = recall(previous, reference)

    def began(index: int) -> int | None:
        told = before[index]
        if finding.states[index] not in FIRED:
            return None
        if told is None or told.state not in FIRED:
            return int(times[index])
        width = window.traces[finding.place.trace[index]].ring.width
        return _kept(told.onset, int(times[index]), width, oldest)

    def common(index: int) -> dict[str, Any]:
        fired = finding.states[index] in FIRED
        return {
            "state": finding.states[index],
            "evidence_log10": _log10(finding.log_m[index]),
            "severity": severity(float(finding.effects.psi[index])) if fired else None,
            "onset": began(index),
            "window_size": int(finding.effects.rows[index]),
            "needed": int(finding.needed[index]),
            "inflation": round(float(window.inflation[index]), 3),
            "sentence": "",
            "quiet_since": int(quiet) if (quiet := finding.quiet_since[index]) > oldest else None,
        }

    signals = [
        SignalVerdict(
            name=each.name,
            group=each.signal.group,
            kind=each.signal.kind,
            effect=effects[index],
            reference_size=each.rows,
            **common(index),
        )
        for index, each in enumerate(reference.signals)
    ]
    many = [
        MultivariateVerdict(
            name=each.reference.name,
            group=each.reference.group,
            distance=float(six_digits(np.sqrt(finding.effects.psi[index]))),
            moved=_moved(each, window.flat(finding.place, index)),
            reference_size=each.rows,
            **common(index),
        )
        for index, each in enumerate(window.panel.together, start=len(signals))
    ]
    onset, width = finding.onset or (None, 0)
    if onset is not None and previous is not None and previous.state in FIRED:
        onset = _kept(previous.onset, onset, width, oldest)
    whole = Verdict(
        state=finding.state,
        evidence_log10=_log10(finding.joint_log_m),
        onset=onset,
        window_from=int(ring.starts[0]) if len(ring) else None,
        window_to=int(ring.starts[-1]) + ring.width if len(ring) else None,
        window_rows=int(ring.rows.sum(axis=0).max(initial=0)),
        alpha=alpha,
        independent=independent,
        signals=tuple(_said(each, language, ring.width) for each in signals),
        breaches=breaches,
        sentence="",
        multivariates=tuple(_said(each, language, ring.width) for each in many),
    )
    return replace(whole, sentence=sentence(whole, language, ring.width))


def _moved(together: Together, flat: Floats) -> dict[str, float]:
    """The signals that moved most, and by how much, in standard deviations."""
    moved = six_digits(together.moved(flat))
    first = np.argsort(-np.abs(moved), kind="stable")[:MOVED]
    return {together.reference.signals[at]: float(moved[at]) for at in first.tolist() if moved[at]}


def _said(verdict: V, language: Language, width: int) -> V:
    return replace(verdict, sentence=sentence(verdict, language, width))


def _effects(window: Window, reference: Reference, finding: Finding) -> list[Effect | None]:
    layout, found = reference.layout, finding.effects
    columns = {(each.group, each.name): each for each in reference.columns}
    keys = [(each.signal.group, each.signal.column) for each in reference.signals]
    rows = np.array([layout.rows[key] for key in keys], dtype=np.int64)
    place = finding.place.first(len(rows))
    shift = window.means(place, rows)
    base = np.array([np.nan if (mean := columns[key].mean) is None else mean for key in keys])
    sd = np.array([columns[key].sd or np.nan for key in keys])
    shift, w1 = six_digits((shift - base) / sd), six_digits(found.w1[: len(rows)] / sd)
    missing = _missing_change(window, reference, place)

    def effect(index: int, each: SignalReference) -> Effect | None:
        if not found.rows[index]:
            return None
        continuous = each.signal.kind == "continuous"
        return Effect(
            psi=float(found.psi[index]),
            js=float(found.js[index]),
            w1_sd=_number(w1[index]) if continuous else None,
            mean_shift_sd=_number(shift[index]) if continuous else None,
            missing_change=_number(missing[index]),
            cell=cell_name(each, int(found.cell[index])),
            rate=float(found.rate[index]),
            reference_rate=float(found.reference_rate[index]),
        )

    return [effect(index, each) for index, each in enumerate(reference.signals)]


def _missing_change(window: Window, reference: Reference, place: Place) -> Floats:
    """Rise of the missing rate of each signal's column over its stretch; NaN if none is kept."""
    layout = reference.layout
    change = np.full(len(reference.signals), np.nan)
    pairs = [
        (index, layout.position[name])
        for index, each in enumerate(reference.signals)
        if (name := f"{each.signal.column}:missing") in layout.position
        and reference.signals[layout.position[name]].signal.group == each.signal.group
    ]
    if not pairs:
        return change
    where, flags = np.array(pairs, dtype=np.int64).T
    cells = layout.offsets[flags][:, None] + np.arange(2)
    counts = window.counts(place, cells, where)
    usual = np.array([reference.signals[flag].weights for flag in flags])
    with np.errstate(invalid="ignore"):
        now = counts[:, 1] / counts.sum(axis=1)
    change[where] = now - usual[:, 1] / usual.sum(axis=1)
    return change


def cell_name(each: SignalReference, cell: int) -> str:
    """What a person calls a cell: its label, its value or its bounds; ``""`` for a flag."""
    partition = each.signal.partition
    if cell < len(each.labels):
        return each.labels[cell]
    if isinstance(partition, Categorical):
        return f"{partition.values[cell]:g}" if cell < len(partition.values) else "other"
    if not isinstance(partition, Continuous) or not partition.edges:
        return ""
    edges = partition.edges
    if cell == 0:
        return f"< {edges[0]:.4g}"
    if cell == len(edges):
        return f"≥ {edges[-1]:.4g}"
    low, high = edges[cell - 1], edges[cell]
    if high == np.nextafter(low, np.inf):
        return f"= {low:.4g}"
    return f"{low:.4g} to {high:.4g}"


def _kept(told: int | None, found: int, width: int, oldest: int) -> int:
    if told is not None and (told < oldest or found <= told < found + width):
        return told
    return found


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _log10(value: float) -> float:
    # Never −inf: it has no place in JSON.
    return max(float(value) / float(np.log(10)), NO_EVIDENCE)
