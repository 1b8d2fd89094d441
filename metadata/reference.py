"""The reference: what counts are compared with. Carried in the metadata, fitted by `fitting`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import numpy as np
from msgspec import Struct

from .counts import Counts, Layout
from .signals import Floats, Group, Signal

Source = Literal["held_out", "training_batches", "production"]


class ColumnReference(Struct, frozen=True, forbid_unknown_fields=True):
    """Moments of one column over the reference's finite values; None where there was no value."""

    name: str
    group: Group
    kind: Literal["number", "category", "flag"]
    count: int
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None


class SignalReference(Struct, frozen=True, forbid_unknown_fields=True):
    """One signal with the Dirichlet parameters of its cells' unknown probabilities.

    `weights` are gap counts between order statistics (continuous without ties: then they are
    whole, and the law is exact) or counts plus one half a cell. `rows` is the number of reference
    values behind them. `label` names each cell for people, where a number does not say enough.
    """

    signal: Signal
    weights: tuple[float, ...]
    rows: int
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The signal's name."""
        return self.signal.name


class Multivariate(Struct, frozen=True, forbid_unknown_fields=True):
    """Signals of one group that are also looked at together (`multivariate`).

    `whitening` has a row for each direction and a column for each of the `signals`: it makes of
    their cells' normal scores, less their means, numbers of variance 1 that are not correlated.
    `rows` is the number of reference rows behind it, and `independent` as how many independent
    signals they vary: (Σλ)²/Σλ² of the eigenvalues of their correlation.
    """

    name: str
    group: Group
    signals: tuple[str, ...]
    whitening: tuple[tuple[float, ...], ...]
    rows: int
    independent: float


class Reference(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """All signals of a model with their references, and which are looked at together."""

    source: Source
    seed: int
    columns: tuple[ColumnReference, ...]
    signals: tuple[SignalReference, ...]
    multivariates: tuple[Multivariate, ...] = ()

    @cached_property
    def layout(self) -> Layout:
        """The layout of the `Counts` that can be compared with this reference."""
        columns: dict[Group, list[str]] = {}
        for column in self.columns:
            columns.setdefault(column.group, []).append(column.name)
        return Layout([each.signal for each in self.signals], columns)

    def cells(self, counts: Counts) -> Iterator[tuple[SignalReference, Floats]]:
        """Each signal's reference with its cells in `counts`, in the order of `signals`."""
        for each in self.signals:
            yield each, counts.of(each.name).astype(np.float64)
