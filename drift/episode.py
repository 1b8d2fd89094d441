"""An episode: which signals have changed, which have not, and which have returned.

Firing asks for evidence over the ring; returning asks the recent buckets alone. So one old burst
cannot keep an alarm up, and a short lull cannot end it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftline.metadata.signals import Floats, Ints

from .floor import Floor, Truths, named
from .verdict import SignalVerdict, State, Verdict
from .window import Window

FIRED = ("warning", "drift")
# The weakest effect, in floors, whose return is asked for by itself.
WEAKEST = 0.1


@dataclass(frozen=True, eq=False)
class Fired:
    """Evidence alone: `fired` and ln M after returns, and which signals `returned`."""

    fired: Truths
    returned: Truths
    log_m: Floats


def fire(window: Window, floor: Floor, demand: float, held: Truths, known: bool) -> Fired:
    """Which signals have changed, at evidence exp(`demand`).

    A signal fires when weighted e-BH names it, and stays so (`held`) until it returns or its
    evidence falls under the root of what firing needs. It *returns* when the shortest recent
    stretch with enough values to have shown the effect (that seen since the onset, at most the
    floor's) shows less than half of it, and the starts within that stretch hold less evidence
    than the root. What came before is then forgotten. If the verdict before says that it had
    returned (`known`, not held), it has to show the whole effect to fire again.
    """
    log_m = window.log_m
    returned = np.zeros(len(log_m), dtype=bool)
    suspect = (log_m >= demand) | held
    if suspect.any():
        since = window.measure(window.onset())
        target = np.clip(floor.strength(since.psi, since.rate), WEAKEST, 1.0)
        needed = floor.needed(target, np.full(len(log_m), demand), window.inflation)
        stretch, enough = window.latest(needed)
        recent = window.measure(stretch)
        bound = np.where(held | (not known), target / 2, target)
        quiet = floor.strength(recent.psi, recent.rate) < bound
        later = window.log_m_since(stretch)
        returned = suspect & enough & quiet & (later < demand / 2)
        log_m = np.where(returned, later, log_m)
    stays = held & ~returned & (log_m >= demand / 2)
    return Fired(named(log_m, window.panel.shares, demand) | stays, returned, log_m)


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


def together(found: Sequence[State], flags: Truths, joint: bool) -> State:
    """The state of all signals together; `joint` says that their mean evidence suffices.

    It is stable as soon as one signal that is not a flag could have shown a change at its floor.
    """
    if "drift" in found:
        return "drift"
    if "warning" in found or joint:
        return "warning"
    if all(each == "no_data" for each in found):
        return "no_data"
    main = [each for each, flag in zip(found, flags, strict=True) if not flag] or list(found)
    return "stable" if "stable" in main else "insufficient_data"


def recall(previous: Verdict | None, names: Sequence[str]) -> list[SignalVerdict | None]:
    """Each signal's part of the previous verdict, None where it had none."""
    if previous is None:
        return [None] * len(names)
    by_name = {each.name: each for each in previous.signals}
    return [by_name.get(name) for name in names]
