"""Counts decide: however a stream is split, one verdict; a hostile float stays in its cell."""

from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftline.drift import Ring, judge
from driftline.metadata.counts import Counts
from driftline.metadata.reference import Reference
from driftline.metadata.signals import NOT_COUNTED

HOSTILE = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1e308, -1e308, 0.0, -0.0]),
)
FEW = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def mixed(fit) -> Reference:
    """A normal column, one of many zeros, a category, a flag."""
    random = np.random.default_rng(2)
    rows = np.stack(
        [
            random.normal(size=2000),
            np.where(random.random(2000) < 0.4, 0.0, random.exponential(size=2000)),
            random.choice(5, size=2000, p=[0.5, 0.3, 0.1, 0.09, 0.01]).astype(float),
            (random.random(2000) < 0.02).astype(float),
        ],
        axis=1,
    )
    return fit(rows, ["number", "number", "category", "flag"])


def total(parts: list[Counts], zeros: Counts) -> Counts:
    for part in parts:
        zeros = zeros + part
    return zeros


@FEW
@given(
    cuts=st.lists(st.integers(0, 400), max_size=6),
    order=st.randoms(use_true_random=False),
    shift=st.sampled_from([0.0, 0.6]),
)
def test_any_split_and_order_gives_the_same_verdict(
    mixed: Reference, cuts: list[int], order, shift: float
) -> None:
    layout = mixed.layout
    rows = np.random.default_rng(3).normal(shift, 1, size=(400, 4))
    rows[::7, 1] = np.nan
    buckets: dict[int, list[Counts]] = {}
    edges = sorted({0, 400, *cuts})
    for low, high in itertools.pairwise(edges):
        for minute in range(low // 100, (high - 1) // 100 + 1):
            part = rows[max(low, 100 * minute) : min(high, 100 * minute + 100)]
            buckets.setdefault(60 * minute, []).append(layout.count("input", part))
    for parts in buckets.values():
        order.shuffle(parts)
    split = Ring.of(60, {at: total(parts, layout.zeros()) for at, parts in buckets.items()})
    whole = Ring.of(
        60, {60 * at: layout.count("input", rows[100 * at : 100 * at + 100]) for at in range(4)}
    )
    assert judge(mixed, split) == judge(mixed, whole)


@FEW
@given(values=st.lists(HOSTILE, min_size=4, max_size=12))
def test_a_hostile_value_changes_only_its_own_counts(mixed: Reference, values: list[float]) -> None:
    layout = mixed.layout
    rows = np.random.default_rng(4).normal(size=(len(values), 4))
    hostile = rows.copy()
    hostile[:, 0] = values
    plain, met = layout.count("input", rows), layout.count("input", hostile)
    for signal in layout.signals:
        cells = met.of(signal.name)
        if signal.column != "x0":
            assert (cells == plain.of(signal.name)).all()
        else:
            counted = (signal.partition.cells(hostile[:, 0]) != NOT_COUNTED).sum()
            assert cells.sum() == counted
    assert met.rows.tolist() == plain.rows.tolist()
    verdict = judge(mixed, Ring.of(60, {0: met, 60: plain}))
    again = msgspec.json.decode(msgspec.json.encode(verdict), type=type(verdict))
    assert again == verdict, "a number that is not finite would have become null"


@FEW
@given(values=st.lists(HOSTILE, min_size=8, max_size=60), seed=st.integers(0, 3))
def test_a_hostile_reference_still_judges(fit, values: list[float], seed: int) -> None:
    column = np.array(values)[:, None]
    reference = fit(column, seed=seed)
    counts = reference.layout.count("input", column)
    verdict = judge(reference, Ring.of(60, {0: counts, 60: counts}))
    numbers = [verdict.evidence_log10, *(each.evidence_log10 for each in verdict.signals)]
    assert np.isfinite(numbers).all()
    for each in verdict.signals:
        if each.effect is not None:
            found = [each.effect.psi, each.effect.js, each.effect.w1_sd or 0.0]
            assert np.isfinite(found).all()


@FEW
@given(
    parts=st.lists(
        st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE, HOSTILE), max_size=5), min_size=3, max_size=3
    )
)
def test_merge_is_associative_commutative_and_has_an_identity(
    mixed: Reference, parts: list[list[tuple[float, ...]]]
) -> None:
    layout = mixed.layout
    a, b, c = (
        layout.count("input", np.array(rows, dtype=np.float64).reshape(-1, 4)) for rows in parts
    )
    assert ((a + b) + c).cells.tolist() == (a + (b + c)).cells.tolist()
    assert (a + b).cells.tolist() == (b + a).cells.tolist()
    assert ((a + b) + c).rows.tolist() == (c + (b + a)).rows.tolist()
    assert a + layout.zeros() == a
    assert layout.zeros() + a == a
