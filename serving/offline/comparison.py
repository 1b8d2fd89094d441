"""Two packages side by side: what their metadata say otherwise, how their references differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from driftline.metadata.reference import ColumnReference, SignalReference
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Categorical, Continuous, Floats

# What another fitting of the same data would change as well, or what says nothing to a person.
_SKIPPED = frozenset({"metadata_sha256", "created", "files", "reference", "sensitivity"})
# Sums of many equal cells are compared in about so many.
CELLS = 16
# Populations are called alike below it, as usual for PSI.
LARGE = 0.1
MOST_TEXT = 44


class Difference(Struct, frozen=True):
    """A field that the two say otherwise, as text; ``–`` where one does not have it."""

    field: str
    old: str
    new: str


class SignalDifference(Struct, frozen=True, kw_only=True):
    """How one signal's reference differs; measures are None where it is only in one of the two.

    `psi` is the population stability index of the new reference against the old one over about 16
    of the old one's cells, less what chance gives with so many rows; `mean_shift_sd` in old
    standard deviations. `recut` says that the cells lie elsewhere, so that `psi` is interpolated.
    """

    name: str
    group: str
    state: str
    psi: float | None = None
    mean_shift_sd: float | None = None
    old_mean: float | None = None
    new_mean: float | None = None
    recut: bool = False


class Comparison(Struct, frozen=True):
    """All differences; fields in the order of the format, signals with the largest first."""

    fields: tuple[Difference, ...]
    signals: tuple[SignalDifference, ...]

    @property
    def differs(self) -> bool:
        """True where a signal is new or gone, or its reference has moved by PSI 0.1 or more."""
        return any(each.state != "alike" for each in self.signals)


def compared(old: ModelMetadata, new: ModelMetadata) -> Comparison:
    """The differences of two packages."""
    plain = [msgspec.to_builtins(each) for each in (old, new)]
    fields = tuple(_fields("", plain[0], plain[1]))
    return Comparison(fields, tuple(_signals(old, new)))


def _fields(path: str, old: Any, new: Any) -> Iterator[Difference]:
    if old == new:
        return
    if path.endswith(".projection"):  # matrices, which say nothing to a person
        yield Difference(path, "–" if old is None else "fitted", _refitted(old, new))
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if path or key not in _SKIPPED:
                inner = f"{path}.{key}" if path else key
                yield from _fields(inner, old.get(key), new.get(key))
    elif _listed(old) and _listed(new) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _fields(f"{path}[{index}]", one, other)
    else:
        yield Difference(path, _text(old), _text(new))


def _refitted(old: Any, new: Any) -> str:
    return "–" if new is None else "fitted" if old is None else "fitted anew"


def _listed(value: Any) -> bool:
    """True for lists of structs; lists of numbers are told as a whole."""
    return isinstance(value, list | tuple) and any(isinstance(each, dict) for each in value)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, list | tuple | dict | str) and not value):
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple) and all(isinstance(each, float | int) for each in value):
        text = ", ".join(f"{each:.4g}" for each in value)
    elif isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        text = ", ".join(value)
    else:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def _signals(old: ModelMetadata, new: ModelMetadata) -> list[SignalDifference]:
    before = {each.name: each for each in old.reference.signals}
    after = {each.name: each for each in new.reference.signals}
    found = [_signal(before[name], after[name], old, new) for name in before if name in after]
    for state, ones, others in (("gone", before, after), ("new", after, before)):
        found += [
            SignalDifference(name=name, group=each.signal.group, state=state)
            for name, each in ones.items()
            if name not in others
        ]
    order = ("gone", "new", "recast", "moved", "alike")
    return sorted(found, key=lambda each: (order.index(each.state), -(each.psi or 0.0)))


def _signal(
    old: SignalReference, new: SignalReference, one: ModelMetadata, other: ModelMetadata
) -> SignalDifference:
    then, now = _column(old, one), _column(new, other)
    shift = None
    if then.mean is not None and now.mean is not None and then.sd:
        shift = (now.mean - then.mean) / then.sd
    plain: dict[str, Any] = {"name": old.name, "group": old.signal.group}
    means: dict[str, Any] = {"old_mean": then.mean, "new_mean": now.mean, "mean_shift_sd": shift}
    shares = _aligned(old, new, now)
    if shares is None:  # another kind of signal: nothing to compare cell by cell
        return SignalDifference(state="recast", **plain, **means)
    psi = _psi(old, *shares, rows=(old.rows, new.rows))
    recut = old.signal.partition != new.signal.partition
    state = "moved" if psi >= LARGE else "alike"
    return SignalDifference(state=state, psi=psi, recut=recut, **plain, **means)


def _column(each: SignalReference, metadata: ModelMetadata) -> ColumnReference:
    key = (each.signal.group, each.signal.column)
    return next(one for one in metadata.reference.columns if (one.group, one.name) == key)


def _aligned(
    old: SignalReference, new: SignalReference, now: ColumnReference
) -> tuple[Floats, Floats] | None:
    """The shares of both over the old one's cells; None where their kinds differ."""
    then, there = old.signal.partition, new.signal.partition
    shares = [np.asarray(each.weights) / sum(each.weights) for each in (old, new)]
    if then == there and (not old.labels or old.labels == new.labels):
        return shares[0], shares[1]
    if old.signal.kind == new.signal.kind == "flag":  # of another bound, but as rare or not
        return shares[0], shares[1]
    if isinstance(then, Continuous) and isinstance(there, Continuous):
        return shares[0], _recut(shares[1], there.edges, then.edges, now)
    if isinstance(then, Categorical) and isinstance(there, Categorical):
        # By their labels, where they have such: a code may mean another word by now.
        names = [_keys(each) for each in (old, new)]
        found = dict(zip(names[1], shares[1], strict=False))
        moved = np.array([found.pop(name, 0.0) for name in names[0][:-1]])
        return shares[0], np.append(moved, 1.0 - moved.sum())
    return None


def _keys(each: SignalReference) -> list[str]:
    partition = each.signal.partition
    values = partition.values if isinstance(partition, Categorical) else ()
    if len(each.labels) >= len(values):
        return [*each.labels[: len(values)], "\0other"]
    return [*(f"{value:g}" for value in values), "\0other"]


def _recut(
    shares: Floats, edges: tuple[float, ...], wanted: tuple[float, ...], column: ColumnReference
) -> Floats:
    """Shares over cells between other edges, taking values to lie evenly within their cells."""
    if not edges:
        return np.append(np.zeros(len(wanted)), 1.0)
    low = column.low if column.low is not None else edges[0]
    high = column.high if column.high is not None else edges[-1]
    ends = np.concatenate([[min(low, edges[0])], edges, [max(high, edges[-1])]])
    reached = np.concatenate([[0.0], np.cumsum(shares)])
    below = np.interp(wanted, ends, reached, left=0.0, right=1.0)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def _psi(old: SignalReference, then: Floats, now: Floats, rows: tuple[int, int]) -> float:
    """PSI over cells joined to about sixteen, less the expectation (k − 1)(1/n + 1/m) of chance
    (Yurdakul and Naranjo 2020, "Statistical properties of the population stability index")."""
    if isinstance(old.signal.partition, Continuous):
        ends = np.floor(np.cumsum(then) * CELLS - 1e-9).clip(0, CELLS - 1).astype(int)
        then, now = (np.asarray(np.bincount(ends, weights=each), float) for each in (then, now))
        there = then > 0
        then, now = then[there], now[there]
    least = 0.5 / max(min(rows), 1)
    then, now = np.maximum(then, least), np.maximum(now, least)
    found = float(np.sum((now - then) * np.log(now / then)))
    chance = (len(then) - 1) * (1 / max(rows[0], 1) + 1 / max(rows[1], 1))
    corrected = max(found - chance, 0.0)
    return corrected if math.isfinite(corrected) else 0.0
