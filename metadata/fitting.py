"""How a sample of rows becomes a reference.

Two laws, never mixed in one signal:

- values without heavy ties are cut at their own order statistics; the unknown probabilities of
  such cells are exactly Dirichlet(gap counts) (Wilks 1962, *Mathematical Statistics*, 8.7);
- everything with atoms chooses its cells on one quarter of the sample and counts them on the
  other three, plus one half a cell (Krichevsky and Trofimov 1981). Counting the rows that chose
  the cells would favour cells that were frequent by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from .moments import COUNT, HIGH, LOW, M2, MEAN, moments_of
from .multivariate import fit_multivariates
from .reference import ColumnReference, Multivariate, Reference, SignalReference, Source
from .sample import RowSample
from .signals import (
    Categorical,
    Column,
    Condition,
    Continuous,
    Flag,
    Floats,
    Group,
    Missing,
    Outside,
    Partition,
    Signal,
    Unseen,
)

CELLS = 32
# Below this share of repeated values the order statistics are as good as distinct.
TIED = 0.001
STANDS_ALONE = 5


def fit_reference(
    samples: Mapping[Group, RowSample],
    columns: Mapping[Group, Sequence[Column]],
    *,
    source: Source,
    seed: int = 0,
) -> Reference:
    """The reference of all groups; each group's sample has the group's columns, in order.

    A number column gives its distribution and the flags ``:missing`` and ``:out_of_range``; a
    category column its distribution and ``:missing`` and ``:unseen``; a flag column one flag. A
    column with fewer than 8 finite values, or whose first quarter gives no two cells, gets flags
    only. Signals have their column's name, and before it ``<group>.`` where two groups share it.
    """
    fitted: list[ColumnReference] = []
    signals: list[SignalReference] = []
    together: list[Multivariate] = []
    times = Counter(column.name for group in samples for column in columns[group])
    for group, sample in samples.items():
        for index, column in enumerate(columns[group]):
            name = column.name if times[column.name] == 1 else f"{group}.{column.name}"
            values = sample.rows[:, index]
            fitted.append(_column(column, group, values))
            random = np.random.default_rng([seed, index])
            signals.extend(_signals(column, name, group, values, random))
        own = [each for each in signals if each.signal.group == group]
        names = [column.name for column in columns[group]]
        together.extend(fit_multivariates(group, own, names, sample.rows))
    return Reference(source, seed, tuple(fitted), tuple(signals), tuple(together))


def _column(column: Column, group: Group, values: Floats) -> ColumnReference:
    moments = moments_of(values)
    n = int(moments[COUNT])
    if not n:
        return ColumnReference(column.name, group, column.kind, 0, None, None, None, None)
    sd = float(np.sqrt(moments[M2] / max(n - 1, 1)))
    low, high = float(moments[LOW]), float(moments[HIGH])
    return ColumnReference(column.name, group, column.kind, n, float(moments[MEAN]), sd, low, high)


def _signals(
    column: Column, name: str, group: Group, values: Floats, random: np.random.Generator
) -> list[SignalReference]:
    def signal(suffix: str, partition: Partition, weights: Floats, rows: int) -> SignalReference:
        named = Signal(name + suffix, group, column.name, partition)
        return SignalReference(named, tuple(weights.tolist()), rows)

    def counted(suffix: str, when: Condition, on: Floats) -> SignalReference:
        flag = Flag(when)
        return signal(suffix, flag, _half(flag, on), len(on))

    finite = values[np.isfinite(values)]
    if column.kind == "flag":
        return [counted("", Outside(high=0.5), finite)]
    found = [counted(":missing", Missing(), values)]
    if len(finite) < 8:
        return found
    # The sample lies in the random order of its priorities, so its first quarter is a random one.
    first, rest = finite[: len(finite) // 4], finite[len(finite) // 4 :]
    if column.kind == "category":
        cells = Categorical(tuple(_frequent(first).tolist()))
        if cells.size > 1:
            found.insert(0, signal("", cells, _half(cells, rest), len(rest)))
        found.append(counted(":unseen", Unseen(tuple(np.unique(first).tolist())), rest))
        return found
    if _tied(finite):
        edges = _edges_with_atoms(first)
        partition = Continuous(tuple(edges.tolist()))
        if partition.size > 1:
            found.insert(0, signal("", partition, _half(partition, rest), len(rest)))
    else:
        edges, gaps = _order_statistics(finite, random)
        weights = np.full(len(edges) + 1, float(gaps))
        found.insert(0, signal("", Continuous(tuple(edges.tolist())), weights, len(finite)))
    # A new value leaves the range of n others with a probability drawn from Beta(2, n - 1).
    outside = Outside(float(finite.min()), float(finite.max()))
    weights = np.array([len(finite) - 1.0, 2.0])
    found.append(signal(":out_of_range", Flag(outside), weights, len(finite)))
    return found


def _half(partition: Partition, values: Floats) -> Floats:
    """Counts of the cells plus one half each."""
    cells = partition.cells(values)
    return np.bincount(cells[cells >= 0], minlength=partition.size) + 0.5


def _tied(values: Floats) -> bool:
    return len(values) - len(np.unique(values)) > TIED * len(values)


def _frequent(values: Floats) -> Floats:
    """The values that stand alone, ascending."""
    distinct, times = np.unique(values, return_counts=True)
    return distinct[times >= STANDS_ALONE]


def _order_statistics(values: Floats, random: np.random.Generator) -> tuple[Floats, int]:
    """Edges at order statistics that leave equally many of the n + 1 gaps in each cell."""
    cells = CELLS
    while cells > 2 and (len(values) + 1) // cells < 2:
        cells //= 2
    gaps = (len(values) + 1) // cells
    kept = random.permutation(values)[: gaps * cells - 1]
    return np.sort(kept)[gaps - 1 :: gaps][: cells - 1], gaps


def _edges_with_atoms(values: Floats) -> Floats:
    """Edges chosen on `values`: frequent values alone, the others in cells of like frequency.

    With many atoms only those alone that would fill half a cell of the usual number; the rest
    shares cells with its neighbours.
    """
    distinct, times = np.unique(values, return_counts=True)
    alone = times >= STANDS_ALONE
    if alone.sum() >= CELLS:
        alone &= times >= len(values) / (2 * CELLS)
    atoms = distinct[alone]
    others = np.sort(values[~np.isin(values, atoms)])
    cells = int(min(max(CELLS - len(atoms), 1), len(others) // STANDS_ALONE))
    inner = others[np.arange(1, cells) * len(others) // cells] if cells > 1 else others[:0]
    with np.errstate(over="ignore"):
        after = np.nextafter(atoms, np.inf)
    edges = np.unique(np.concatenate([inner, atoms, after]))
    return edges[np.isfinite(edges)]  # nothing lies above the largest float
