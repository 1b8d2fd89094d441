"""An episode: which signals have changed, which have not, and which have returned.

Firing asks for evidence over the ring; returning asks the recent buckets alone. So one old burst
cannot keep an alarm up, and a short lull cannot end it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftline.metadata.reference import Reference
from driftline.metadata.signals import Floats, Ints

from .floor import Floor, Truths, named
from .verdict import MemberVerdict, State, Verdict
from .window import Window

FIRED = ("warning", "drift")
# The weakest effect, in floors, whose return is asked for by itself.
WEAKEST = 0.1
# The distance of signals together wobbles with all their directions: its return is asked of so many
# times the values. Else a shift of 0.25 σ in 5 of 20 is taken for returned while it begins, and
# called half as late again.
PATIENCE = 2.0


@dataclass(frozen=True, eq=False)
class Fired:
    """Evidence alone: `fired`, ln M after returns, which members `returned`, and `since` when."""

    fired: Truths
    returned: Truths
    since: Floats
    log_m: Floats


def fire(window: Window, floor: Floor, demand: float, held: Truths, known: bool) -> Fired:
    """Which signals have changed, at evidence exp(`demand`).

    A signal fires when weighted e-BH names it, and stays so (`held`) until it returns or its
    evidence falls under the root of what firing needs. What came before a return is forgotten. If
    the verdict before says that it had returned (`known`, not held), the recent buckets have to
    show the whole effect for it to fire again.
    """
    log_m = window.log_m
    returned, since = np.zeros(len(log_m), dtype=bool), np.zeros(len(log_m))
    suspect = (log_m >= demand / 2) | held
    if suspect.any():
        share = np.where(held | (not known), 0.5, 1.0)
        back, since = _returns(window, floor, demand, share)
        returned = suspect & np.isfinite(back)
        log_m = np.where(returned, back, log_m)
    stays = held & ~returned & (log_m >= demand / 2)
    return Fired(named(log_m, window.panel.shares, demand) | stays, returned, since, log_m)


def _returns(window: Window, floor: Floor, demand: float, share: Floats) -> tuple[Floats, Floats]:
    """ln M of each member since it returned, ``[T]``, infinite where it did not, and when it did.

    It returned at a start after its onset when the values from there on are enough to have shown
    the effect that it had before (at most the floor), yet show less than a `share` of it, and the
    starts among them hold less evidence than the root of what firing needs.
    """
    found, since = np.full(len(share), np.inf), np.zeros(len(share))
    patience = np.where(floor.directions > 0, PATIENCE, 1.0)
    for parts in window.parted(window.onset()):
        effect = np.clip(floor.strength(parts.psi[0], parts.rate[0]), WEAKEST, 1.0)
        needed = floor.needed(effect, np.array(demand), window.inflation[:, None])
        enough = parts.rows >= patience[:, None] * needed
        quiet = floor.strength(parts.psi[1], parts.rate[1]) < share[:, None] * effect
        well = parts.after & enough & quiet & (parts.log_m < demand / 2)
        first = np.argmax(well, axis=1)
        log_m = np.take_along_axis(parts.log_m, first[:, None], axis=1)[:, 0]
        better = well.any(axis=1) & (log_m < found)
        found = np.where(better, log_m, found)
        since = np.where(better, parts.starts[first], since)
    return found, since


def states(
    fired: Truths, strength: Floats, before: Sequence[State | None], rows: Floats, needed: Ints
) -> tuple[State, ...]:
    """The state of each signal; `before` is its state in the previous verdict, if there was one."""

    def state(index: int) -> State:
        if rows[index] == 0:
            return "no_data"
        if fired[index]:
            enough = 0.5 if before[index] == "drift" else 1.0
            return "drift" if strength[index] >= enough else "warning"
        return "insufficient_data" if rows[index] < needed[index] else "stable"

    return tuple(state(index) for index in range(len(rows)))


def overall(found: Sequence[State], aside: Truths, joint: bool) -> State:
    """The state of all members together; `joint` says that their mean evidence suffices.

    It is stable as soon as one that is not `aside` could have shown a change at its floor.
    """
    if "drift" in found:
        return "drift"
    if "warning" in found or joint:
        return "warning"
    if all(each == "no_data" for each in found):
        return "no_data"
    main = [each for each, by in zip(found, aside, strict=True) if not by] or list(found)
    return "stable" if "stable" in main else "insufficient_data"


def recall(previous: Verdict | None, reference: Reference) -> list[MemberVerdict | None]:
    """Each member's part of the previous verdict, None where it had none."""
    signals = {each.name: each for each in previous.signals} if previous else {}
    many = {each.name: each for each in previous.multivariates} if previous else {}
    return [
        *(signals.get(each.name) for each in reference.signals),
        *(many.get(each.name) for each in reference.multivariates),
    ]
