"""The losses of a training in bounded memory, and the power law that fits them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from driftline.metadata.quality import LossCurve

Floats = NDArray[np.float64]

LARGEST_POWER = 10.0
SMALLEST_POWER = 0.01
FEWEST_POINTS = 5


class LossRecord:
    """Mean and standard deviation of the loss by epoch, and the loss by step.

    The series is kept as means of `stride` steps each; when `capacity` of them are full the
    stride doubles, so memory stays bounded and every step keeps its weight.

    Args:
        capacity: even number of points that are kept at the most.
    """

    def __init__(self, capacity: int = 4096) -> None:
        self.stride = 1
        self.final: float | None = None
        self.best: float | None = None
        self.finite = True
        self.means: list[float] = []
        self.sds: list[float] = []
        self._capacity = capacity
        self._points: list[tuple[float, float]] = []
        self._open: list[tuple[float, float]] = []
        self._epoch = (0, 0.0, 0.0)

    def add(self, step: int, loss: float) -> None:
        """Takes the loss of one step, counted from 1; one that is not finite is only noted."""
        self.final = loss if math.isfinite(loss) else None
        if self.final is None:
            self.finite = False
            return
        self.best = loss if self.best is None else min(self.best, loss)
        n, mean, m2 = self._epoch
        delta = loss - mean
        mean += delta / (n + 1)
        self._epoch = (n + 1, mean, m2 + delta * (loss - mean))
        self._open.append((float(step), loss))
        if len(self._open) >= self.stride:
            self._points.append(_mean(self._open))
            self._open.clear()
            if len(self._points) >= self._capacity:
                pairs = zip(self._points[::2], self._points[1::2], strict=True)
                self._points = [_mean(pair) for pair in pairs]
                self.stride *= 2

    def close_epoch(self) -> None:
        """Ends an epoch; one without a finite loss leaves no entry."""
        n, mean, m2 = self._epoch
        if n:
            self.means.append(mean)
            self.sds.append(math.sqrt(m2 / (n - 1)) if n > 1 else 0.0)
        self._epoch = (0, 0.0, 0.0)

    def series(self) -> tuple[Floats, Floats]:
        """Steps and losses of the kept points, the unfinished one included."""
        points = self._points + ([_mean(self._open)] if self._open else [])
        array = np.array(points, dtype=np.float64).reshape(-1, 2)
        return array[:, 0], array[:, 1]


def fit_loss_curve(steps: Floats, losses: Floats) -> LossCurve | None:
    """The least-squares fit ``floor + scale · (step + 1) ** -power``; None below five points.

    For a given power the two others follow from linear least squares, so one dimension remains to
    be searched (variable projection; Golub and Pereyra 1973). The floor is held at or above 0 when
    no loss is below 0, and the scale at or above 0: a training that does not improve has scale 0.

    Args:
        steps: shape ``[n]``, counted from 1.
        losses: shape ``[n]``, finite.
    """
    if len(losses) < FEWEST_POINTS:
        return None
    lowest = 0.0 if losses.min() >= 0 else -math.inf

    def residual(log_power: float) -> float:
        return _linear(steps, losses, math.exp(log_power), lowest)[2]

    # Several valleys are possible: the best of a grid shows the one to descend into.
    grid = np.linspace(math.log(SMALLEST_POWER), math.log(LARGEST_POWER), 41)
    best = int(np.argmin([residual(float(point)) for point in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(residual, bounds=(low, high), method="bounded")
    power = math.exp(float(found.x))
    floor, scale, squares = _linear(steps, losses, power, lowest)
    return LossCurve(
        floor=floor,
        scale=scale,
        power=power,
        residual=math.sqrt(squares / len(losses)),
        points=len(losses),
        final=float(losses[-1]),
    )


def _linear(
    steps: Floats, losses: Floats, power: float, lowest: float
) -> tuple[float, float, float]:
    """Floor, scale and the sum of squares left over, for one power."""
    basis = (steps + 1) ** -power
    centred = basis - basis.mean()
    spread = float(centred @ centred)
    scale = float(centred @ losses) / spread if spread > 0 else 0.0
    floor = float(losses.mean()) - scale * float(basis.mean())
    if floor < lowest:
        floor, scale = lowest, float(basis @ (losses - lowest)) / float(basis @ basis)
    if scale < 0:
        floor, scale = float(losses.mean()), 0.0
    left = losses - floor - scale * basis
    return floor, scale, float(left @ left)


def _mean(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return (
        sum(point[0] for point in points) / len(points),
        sum(point[1] for point in points) / len(points),
    )
