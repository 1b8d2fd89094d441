"""How fast the training goes, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping

from .probe import PROBES, Probe, Step


@PROBES.register
class Throughput(Probe):
    """Means since the last sampled step; to be asked after the probe that waits for the device.

    `samples_per_second`, `step_seconds`, and `data_wait`: the share of time between the end of a
    step and the begin of the next one, in which data are made ready. Time spent in evaluations is
    left out.
    """

    kind = "throughput"

    def take(self, step: Step) -> Mapping[str, float]:
        """The values by name; empty for the first step, which has nothing before it."""
        timing = step.timing() if step.timing is not None else None
        if timing is None or timing.steps == 0 or timing.seconds <= 0:
            return {}
        values = {
            "step_seconds": timing.seconds / timing.steps,
            "data_wait": min(timing.waiting / timing.seconds, 1.0),
        }
        if timing.rows:
            values["samples_per_second"] = timing.rows / timing.seconds
        return values
