"""The judge: what a ring of counts says about a reference, in one pure function."""

from __future__ import annotations

import numpy as np

from driftline.metadata.errors import MergeError
from driftline.metadata.reference import Reference
from driftline.metadata.thresholds import Thresholds

from .detector import forget, trace, weights
from .episode import FIRED, fire, overall, recall, states
from .floor import Floor
from .inflation import Inflation, ceiling, inflations, told_within
from .limit import breaches
from .panel import Panel
from .report import Finding, report
from .ring import Ring
from .thresholds import alpha_of, check_thresholds, rule_of
from .verdict import Language, Verdict
from .window import Place, Window


def judge(
    reference: Reference,
    ring: Ring,
    *,
    thresholds: Thresholds | None = None,
    previous: Verdict | None = None,
    slow: Ring | None = None,
    language: Language = "en",
) -> Verdict:
    """The verdict on the counts of a ring, its last bucket finished or not.

    The same counts give the same verdict, however they were merged. Without `previous` each call
    stands alone; with it, what has fired stays until the recent buckets are seen to be well.

    Args:
        reference: what is compared with.
        ring: the last buckets, by default 60 of 60 s.
        thresholds: floors, limits and the promise; all built in when None.
        previous: the verdict of the evaluation before.
        slow: the same traffic in longer buckets, by default 168 of 1 h, for slow change.
        language: of the sentences.

    Raises:
        SettingError: a threshold names an unknown signal or group, or has an impossible value.
        MergeError: a ring was counted under another reference.
    """
    thresholds = thresholds or Thresholds()
    check_thresholds(thresholds, reference)
    panel = Panel.of(reference)
    for each in (ring, slow):
        if each is not None and len(each) and each.cells.shape[1] != panel.total:
            raise MergeError("the ring was counted under another reference")
    if slow is not None and not len(slow):
        slow = None
    alpha = alpha_of(thresholds, ring.width)
    demand = -float(np.log(alpha))
    rules = [rule_of(thresholds, each) for each in reference.signals]
    assumed = Inflation.of(panel, np.array([rule.inflation or 1.0 for rule in rules]))
    bursts, slower = inflations(panel, ring, slow, assumed)
    factor = bursts.members

    before = recall(previous, reference)
    held = np.array([each is not None and each.state in FIRED for each in before], dtype=bool)

    fast_weight, slow_weight = weights(ring.width, slow.width if slow else None, alpha)
    # A change that has come to stay is itself a difference between hours, and makes F large and
    # uncertain: it must not hide so.
    limit = np.where(held, np.inf, ceiling(panel, slow))
    since = [each.quiet_since if each else None for each in before]
    forgotten = np.array([-np.inf if each is None else each for each in since])

    def seen(fast: Inflation, hours: Inflation) -> Window:
        traces = [trace(panel, ring, fast, fast_weight, limit)]
        if slow is not None:
            traces.append(trace(panel, slow, hours, slow_weight))
        return Window(panel, tuple(forget(each, forgotten) for each in traces), factor)

    every = np.ones(panel.size, dtype=bool)
    window, shares = seen(bursts.certain(every), slower.certain(every)), np.log(panel.shares)
    if np.isfinite(bursts.freedom).any() and np.logaddexp.reduce(window.log_m + shares) >= demand:
        change, _ = window.joint_onset(shares)
        bursts = told_within(panel, ring, bursts, change, assumed)
        window = seen(bursts.certain(held), slower.certain(held))
    floor = Floor.of(reference.signals, rules, panel.together)

    fired = fire(window, floor, demand, held, previous is not None)
    begun, whole = window.onset(), window.whole()
    place = Place(
        np.where(fired.fired, begun.trace, whole.trace),
        np.where(fired.fired, begun.start, whole.start),
    )
    effects = window.measure(place)
    needed = floor.needed(
        np.ones(panel.size), demand - np.log(panel.shares), factor, bursts.freedom
    )
    strength = floor.strength(effects.psi, effects.rate)
    found = states(
        fired.fired, strength, [each.state if each else None for each in before],
        window.rows, needed,
    )  # fmt: skip
    joint = float(np.logaddexp.reduce(fired.log_m + shares))
    state = overall(found, panel.aside, joint >= demand)
    onset = None
    if state in FIRED:
        onset = window.joint_onset(np.where(fired.returned, -np.inf, shares))
    quiet = np.maximum(forgotten, np.where(held & fired.returned, fired.since, -np.inf))
    finding = Finding(found, state, fired.log_m, joint, onset, place, effects, needed, quiet)
    limits = breaches(reference, ring, rules, language)
    return report(window, reference, finding, previous, (alpha, bursts.assumed, limits, language))
