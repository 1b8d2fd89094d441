"""What a probe is, and the step that it looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from driftline.metadata.registry import Registry


@dataclass(slots=True)
class Gradients:
    """L2 norms of the gradients of one step, as the optimizer received them.

    `names` and `norms` run side by side, one entry a parameter.
    """

    names: Sequence[str]
    norms: Sequence[float]


@dataclass(slots=True)
class Step:
    """One training step, while it runs; nothing may keep it.

    `outputs` is what the training cell gave, or a mapping of losses by name. `before` is for what
    a probe notes in `begin` and needs in `take`. `timing` ends the step's time when it is called.
    `network` is what is trained, if it is known.
    """

    number: int
    epoch: int
    batch: Sequence[Any] = ()
    outputs: Any = None
    optimizer: Any = None
    network: Any = None
    rows: int = 0
    deep: bool = False
    gradients: Gradients | None = None
    rate: Any = None
    timing: Callable[[], Timing] | None = None
    before: dict[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> Sequence[Any]:
        """The parameters that are trained; empty where neither optimizer nor network is known."""
        if self.optimizer is not None:
            return tuple(self.optimizer.parameters)
        return tuple(self.network.trainable_params()) if self.network is not None else ()

    @property
    def others(self) -> Sequence[Any]:
        """What the network holds beside them: moving averages, frozen weights."""
        if self.network is None:
            return ()
        trained = {id(each) for each in self.parameters}
        return tuple(each for each in self.network.get_parameters() if id(each) not in trained)


@dataclass(slots=True)
class Timing:
    """What happened since the last sampled step: rows, steps, seconds, seconds waiting for data."""

    rows: int
    steps: int
    seconds: float
    waiting: float


class Probe:
    """Measures one thing about a step, in the training thread, and keeps no part of the step.

    A `deep` probe costs so much that it is asked on few steps. What was not measured is left out
    of the answer: a zero always means zero.
    """

    kind: ClassVar[str]
    deep: ClassVar[bool] = False

    def begin(self, step: Step) -> None:
        """Notes what has to be known before the step runs."""

    def take(self, step: Step) -> Mapping[str, float]:
        """The values by name."""
        raise NotImplementedError


class Gauge:
    """Reads one thing that is independent of steps, on the worker's thread.

    `every` is the fewest seconds between two readings.
    """

    kind: ClassVar[str]
    every: float = 5.0

    def read(self) -> Mapping[str, float]:
        """The values by name; empty where there is nothing to read."""
        raise NotImplementedError


PROBES: Registry[Probe] = Registry("probe")
GAUGES: Registry[Gauge] = Registry("gauge")
