"""The gradient tap: reads what the optimizer receives, on the steps it is asked to."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from .batches import to_array
from .probes.probe import Gradients

log = logging.getLogger("driftline")

PHASE = "train_driftline"


class GradientTap:
    """Between `put_in` and `take_out` the training cell's optimizer is wrapped by a reader.

    Outside the two the network is the user's own, with the graph that it compiled before: in graph
    mode the tapped step is a second graph under a phase of its own, so steps in between cost
    nothing. (A switch inside one graph was measured at 0.5 ms a step, taken or not.)

    The norms are of the gradients at the optimizer: after clipping, accumulation and averaging
    over ranks. A fixed loss scale is divided out. A step skipped on overflow has none.

    Args:
        train_network: the cell that makes a training step.
        optimizer: its optimizer, if known; else the first one found in the cell.
    """

    def __init__(self, train_network: Any, optimizer: Any = None) -> None:
        self.error: Exception | None = None
        self._network = train_network
        self._holder, self._name = _holder(train_network, optimizer)
        self._taps: Any = None
        self._phase: str | None = None

    @property
    def optimizer(self) -> Any:
        """The optimizer that the cell trains with; None if it shows none."""
        if self._holder is None:
            return None
        found = self._holder._cells[self._name]
        return found.tapped if isinstance(found, _Tap) else found

    def put_in(self, inputs: Sequence[Any]) -> bool:
        """True if the step that follows will be read.

        The tapped graph is compiled here for `inputs`, so that a network that cannot be tapped
        (sparse gradients, say) is left alone, with the reason in `error`.
        """
        self.take_out()
        if self._holder is None or self.error is not None:
            return False
        try:
            if self._taps is None:
                self._taps = _Tap(self.optimizer)
            self._taps.squares.set_data(ms.Tensor(self._taps.unread))
            self._phase = self._network.phase
            self._holder._cells[self._name] = self._taps
            if ms.get_context("mode") == ms.GRAPH_MODE:
                self._network.phase = PHASE
                self._network.compile(*inputs)
            return True
        except Exception as error:
            self.take_out()
            self.error = error
            log.warning("gradients are not measured: %s", _first_line(error))
            return False

    def take_out(self) -> None:
        """Gives the training cell back as it was; may be called at any time."""
        if self._phase is None:
            return
        self._holder._cells[self._name] = self._taps.tapped
        self._network.phase = self._phase
        self._phase = None

    def read(self) -> Gradients | None:
        """The norms of the step between `put_in` and `take_out`; None if it was not read."""
        if self._taps is None:
            return None
        squares = self._taps.squares.asnumpy()
        if (squares == self._taps.unread).all() or self._taps.error is not None:
            self.error = self.error or self._taps.error
            return None
        scale = _fixed_scale(self._holder)
        return Gradients(self._taps.names, (np.sqrt(squares) / scale).tolist())


class _Tap(nn.Cell):
    """Measures the gradients and hands them on to the optimizer.

    Everything of its own stands in `__dict__`: an attribute set the usual way would be renamed,
    listed among the parameters and saved into checkpoints.
    """

    def __init__(self, optimizer: Any) -> None:
        super().__init__(auto_prefix=False)
        names = tuple(each.name for each in optimizer.parameters)
        self.__dict__["tapped"] = optimizer
        self.__dict__["names"] = names
        self.__dict__["error"] = None
        # No sum of squares is negative: as long as this stands there nothing was measured.
        self.__dict__["unread"] = np.full(len(names), -1, np.float32)
        self.__dict__["squares"] = ms.Parameter(
            ms.Tensor(self.unread), name="driftline_squares", requires_grad=False
        )
        self._cells["optimizer"] = optimizer
        self.half_square = ops.L2Loss()
        self.stack = ops.Stack()
        self.cast = ops.Cast()
        self.assign = ops.Assign()

    def measure(self, gradients: Any) -> Any:
        """Writes the sums of squares."""
        found: tuple[Any, ...] = ()
        for each in gradients:
            found += (2 * self.half_square(self.cast(each, ms.float32)),)
        return self.assign(self.squares, self.stack(found))

    def construct(self, *received: Any) -> Any:
        """The graph: the optimizer's own result, after the measuring."""
        measured = self.measure(received[0])
        return ops.depend(self.optimizer(*received), measured)

    def __call__(self, *received: Any) -> Any:
        """The same in PyNative mode, where an error of the measuring can be kept back."""
        try:
            self.measure(received[0])
        except Exception as error:
            self.__dict__["error"] = error
        return self.tapped(*received)


def norms_of(gradients: Sequence[Any], names: Sequence[str]) -> Gradients:
    """The norms of gradients that a functional loop gives, one for each of `names`.

    Raises:
        ValueError: not as many gradients as names.
    """
    if len(gradients) != len(names):
        raise ValueError(f"{len(gradients)} gradients for {len(names)} parameters")
    on_host = ms.get_context("device_target") == "CPU"
    return Gradients(names, [_host_norm(g) if on_host else _device_norm(g) for g in gradients])


def _host_norm(gradient: Any) -> float:
    flat = to_array(gradient).reshape(-1).astype(np.float32, copy=False)
    return math.sqrt(square) if (square := float(np.dot(flat, flat))) >= 0 else math.nan


def _device_norm(gradient: Any) -> float:
    square = 2 * ops.L2Loss()(ops.cast(gradient, ms.float32))
    return float(np.sqrt(square.asnumpy()))


def _holder(network: Any, optimizer: Any) -> tuple[Any, str]:
    """The cell that has the optimizer, and the name it has it under."""
    for cell in _cells(network):
        for name, child in cell._cells.items():
            wanted = optimizer is None or child is optimizer
            if wanted and isinstance(child, nn.Optimizer):
                return cell, name
    return None, ""


def _cells(network: Any) -> Iterator[Any]:
    for _, cell in network.cells_and_names():
        if not isinstance(cell, nn.Optimizer):
            yield cell


def _fixed_scale(holder: Any) -> float:
    """What a fixed loss scale has multiplied the gradients by; they are not divided yet."""
    if isinstance(holder, nn.TrainOneStepWithLossScaleCell):
        return 1.0  # this one divides before the optimizer
    scale = getattr(holder, "sens", None)
    return float(scale) if isinstance(scale, int | float) and scale else 1.0


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
