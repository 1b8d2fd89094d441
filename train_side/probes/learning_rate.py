"""The learning rate that a step uses."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..pacing import Pace
from .loss import scalar
from .probe import PROBES, Probe, Step

MOST_GROUPS = 16
# Running a schedule's cell takes a millisecond and more, reading a number some microseconds.
SHARE, FREE = 0.001, 10


@PROBES.register
class LearningRate(Probe):
    """`lr` is the rate used in this step; with groups the first one's, and ``lr/0``, ``lr/1``, ….

    A schedule is asked before the step runs, since afterwards it answers for the next one. One
    that is a list is looked up; one that is a cell has to be run, which is done for a thousandth
    of the time only. `lr_scheduled` is 1 where there is a schedule. A functional loop may give the
    rate itself.
    """

    kind = "learning_rate"

    def __init__(self) -> None:
        self._pace = Pace(SHARE, free=FREE)

    def begin(self, step: Step) -> None:
        """Notes the rate; a step that is over has no schedule to ask."""
        if step.optimizer is not None:
            step.before[self.kind] = self._rates(step.optimizer)

    def take(self, step: Step) -> Mapping[str, float]:
        """The rate, or the distinct rates of the groups; nothing where asking costs too much."""
        if step.rate is not None:
            given = scalar(step.rate)
            return {} if given is None else {"lr": given}
        rates = step.before.get(self.kind)
        if not rates:
            return {}
        values = {"lr": rates[0]}
        scheduled = getattr(step.optimizer, "dynamic_lr", None)
        if scheduled is not None:
            values["lr_scheduled"] = float(scheduled)
        if len(rates) > 1:
            values |= {f"lr/{index}": rate for index, rate in enumerate(rates)}
        return values

    def _rates(self, optimizer: Any) -> list[float]:
        groups = getattr(optimizer, "param_groups", None)
        if groups is not None:  # mindspore.mint.optim and mindspore.experimental.optim
            found = [scalar(group["lr"]) for group in groups]
            return list(dict.fromkeys(rate for rate in found if rate is not None))[:MOST_GROUPS]
        rates = optimizer.learning_rate
        # With groups there is one entry for each parameter: those of one group are equal.
        entries = list(rates) if optimizer.is_group_lr else [rates]
        distinct = list({id(each): each for each in entries}.values())
        if optimizer.dynamic_lr:
            at = int(optimizer.global_step.asnumpy().reshape(-1)[0])
            known = [_listed(each, at) for each in distinct]
        else:
            known = [scalar(each) for each in distinct]
        if any(rate is None for rate in known):
            known = self._asked(optimizer)
        return list(dict.fromkeys(rate for rate in known if rate is not None))[:MOST_GROUPS]

    def _asked(self, optimizer: Any) -> list[float | None]:
        began = time.perf_counter()
        if not self._pace.due(began):
            return []
        rates = optimizer.get_lr()
        found = [scalar(each) for each in (rates if isinstance(rates, tuple) else (rates,))]
        now = time.perf_counter()
        self._pace.took(now - began, now)
        return found


def _listed(schedule: Any, at: int) -> float | None:
    """Entry `at` of a schedule that is a list, or the number of one that is constant."""
    values = getattr(schedule, "learning_rate", None)
    if values is None or not hasattr(values, "asnumpy"):
        return None
    array = values.asnumpy()
    if array.ndim == 0:
        return float(array)
    return float(array[at]) if array.ndim == 1 and at < len(array) else None
