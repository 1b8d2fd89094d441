"""Changes of the table's rows: what happens to traffic at the moment it drifts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftline.metadata.signals import Floats

from .table import CODES, NUMBERS

# Takes rows after the change (which it may write into) and gives them changed.
Change = Callable[[np.random.Generator, Floats], Floats]
RAMP = 10_000


def shift(size: float, columns: int) -> Change:
    """The mean of the first `columns` fields is higher by `size` σ."""

    def change(random: np.random.Generator, rows: Floats) -> Floats:
        rows[:, :columns] += size
        return rows

    return change


def wider(random: np.random.Generator, rows: Floats) -> Floats:
    """The variance of one field is half as large again."""
    rows[:, 0] *= np.sqrt(1.5)
    return rows


def stuck(random: np.random.Generator, rows: Floats) -> Floats:
    """One field repeats the last value before the change."""
    rows[:, 0] = rows[0, 0]
    return rows


def missing(random: np.random.Generator, rows: Floats) -> Floats:
    """One field is missing in 5 of 100 rows."""
    rows[random.random(len(rows)) < 0.05, 0] = np.nan
    return rows


def unseen(random: np.random.Generator, rows: Floats) -> Floats:
    """Two of 100 rows have a category that the reference never saw."""
    rows[random.random(len(rows)) < 0.02, NUMBERS] = CODES
    return rows


def unpaired(random: np.random.Generator, rows: Floats) -> Floats:
    """Two fields lose their correlation; each keeps its own distribution."""
    rows[:, NUMBERS - 1] = random.standard_normal(len(rows))
    return rows


def ramp(random: np.random.Generator, rows: Floats) -> Floats:
    """The mean of one field rises by 1 σ, evenly over 10,000 requests."""
    rows[:, 0] += np.minimum(np.arange(len(rows)) / RAMP, 1.0)
    return rows


CHANGES: dict[str, Change] = {
    **{
        f"mean +{size:g} σ in {columns} of 20": shift(size, columns)
        for columns in (1, 5)
        for size in (0.1, 0.25, 0.5, 1.0)
    },
    "variance × 1.5": wider,
    "one signal stuck": stuck,
    "5 % missing": missing,
    "an unseen category (2 %)": unseen,
    "a correlation broken": unpaired,
    "a ramp to 1 σ in 10,000": ramp,
}
# Shifts that others see as well, and about as soon.
CLOSE_CALLS = tuple(
    f"mean +{size:g} σ in {columns} of 20" for columns in (1, 5) for size in (0.25, 0.5, 1.0)
)
