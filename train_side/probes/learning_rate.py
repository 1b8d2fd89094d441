"""The learning rate that a step uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .loss import scalar
from .probe import PROBES, Probe, Step

MOST_GROUPS = 16


@PROBES.register
class LearningRate(Probe):
    """`lr` is the rate used in this step; with groups the first one's, and ``lr/0``, ``lr/1``, ….

    A schedule is asked before the step runs, since afterwards it answers for the next one.
    `lr_scheduled` is 1 where there is a schedule. A functional loop may give the rate itself.
    """

    kind = "learning_rate"

    def begin(self, step: Step) -> None:
        """Notes the rate; a step that is over has no schedule to ask."""
        if step.optimizer is not None and step.rate is None:
            step.before[self.kind] = _rates(step.optimizer)

    def take(self, step: Step) -> Mapping[str, float]:
        """The rate, or the distinct rates of the groups."""
        if step.rate is not None:
            given = scalar(step.rate)
            return {} if given is None else {"lr": given}
        rates = step.before.get(self.kind)
        if not rates:
            return {}
        values = {"lr": rates[0], "lr_scheduled": float(bool(step.optimizer.dynamic_lr))}
        if len(rates) > 1:
            values |= {f"lr/{index}": rate for index, rate in enumerate(rates)}
        return values


def _rates(optimizer: Any) -> list[float]:
    rate = optimizer.get_lr()
    # With groups there is one entry for each parameter: those of one group are equal.
    found = [scalar(each) for each in rate] if isinstance(rate, tuple | list) else [scalar(rate)]
    return list(dict.fromkeys(each for each in found if each is not None))[:MOST_GROUPS]
