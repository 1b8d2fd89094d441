"""A glance at numbers that lie in the host's memory already: it waits for no device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any

import numpy as np


class Glance:
    """Looks at loss and learning rate of every step of a loop, where they are plain numbers.

    What goes on not being finite is news only once: else every step from there on would be one
    that is sampled.
    """

    def __init__(self) -> None:
        self._wrong: Set[str] = frozenset()

    def is_news(self, loss: Any, rate: Any) -> bool:
        """True if something is not finite that was so in the step before, or was not known."""
        if type(loss) is float and rate is None and math.isfinite(loss):
            self._wrong = frozenset()  # most steps of such a loop end here
            return False
        wrong = {name for name, part in _parts(loss) if is_number(part) and not math.isfinite(part)}
        if is_number(rate) and not math.isfinite(rate):
            wrong.add("rate")
        news = not wrong <= self._wrong
        self._wrong = wrong
        return news


def is_seen(loss: Any) -> bool:
    """True if all of a loss is plain numbers, so that a glance says all."""
    return all(is_number(part) for _, part in _parts(loss))


def is_number(part: Any) -> bool:
    """True for a number of Python or NumPy, an array without axes too; never for a tensor."""
    if isinstance(part, int | float | np.integer | np.floating):
        return True
    return isinstance(part, np.ndarray) and part.ndim == 0 and part.dtype.kind in "biuf"


def _parts(loss: Any) -> list[tuple[str, Any]]:
    if isinstance(loss, Mapping):
        return [(f"loss/{name}", part) for name, part in loss.items()]
    return [("loss", loss)]
