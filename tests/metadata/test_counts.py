"""`Counts`: merging adds, hostile values touch only their own cells, bytes are lossless."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from driftline.metadata.counts import Counts, Layout
from driftline.metadata.errors import MergeError
from driftline.metadata.moments import COUNT, HIGH, LOW, M2, MEAN, merge_moments
from driftline.metadata.signals import (
    NOT_COUNTED,
    Categorical,
    Continuous,
    Flag,
    Floats,
    Missing,
    Outside,
    Signal,
    Unseen,
)

SIGNALS = [
    Signal("x", "input", "x", Continuous((-1.0, 0.0, 5e-324, 1.0))),
    Signal("x:missing", "input", "x", Flag(Missing())),
    Signal("x:out_of_range", "input", "x", Flag(Outside(-3.0, 3.0))),
    Signal("c", "input", "c", Categorical((0.0, 1.0, 2.0))),
    Signal("c:unseen", "input", "c", Flag(Unseen((0.0, 1.0, 2.0)))),
    Signal("p", "output", "p", Continuous((0.5,))),
]
LAYOUT = Layout(SIGNALS, {"input": ["x", "c"], "output": ["p"]})

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.7e308, -1.7e308, 1.0, 2.0]
HOSTILE = st.sampled_from(SPECIAL) | st.floats(width=64)
# Squares of the smallest floats have few digits, or none.
TINY = 1e-300
MODEST = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 2.0, np.nan, np.inf])


def matrices(elements: st.SearchStrategy[float], columns: int = 2) -> st.SearchStrategy[Floats]:
    return st.integers(0, 15).flatmap(
        lambda n: hnp.arrays(np.float64, (n, columns), elements=elements)
    )


def counted(inputs: Floats, outputs: Floats | None = None) -> Counts:
    counts = LAYOUT.count("input", inputs)
    return counts if outputs is None else counts + LAYOUT.count("output", outputs)


def assert_alike(a: Counts, b: Counts) -> None:
    """Cells and rows equal, moments to 1e-9 of the values' size."""
    np.testing.assert_array_equal(a.cells, b.cells)
    np.testing.assert_array_equal(a.rows, b.rows)
    for one, other in zip(a.moments, b.moments, strict=True):
        assert one[[COUNT, LOW, HIGH]].tolist() == other[[COUNT, LOW, HIGH]].tolist()
        size = max(abs(one[LOW]), abs(one[HIGH])) if one[COUNT] else 0.0
        assert one[MEAN] == pytest.approx(other[MEAN], rel=1e-9, abs=1e-9 * size)
        assert one[M2] == pytest.approx(other[M2], rel=1e-9, abs=1e-9 * size**2 + TINY)


@given(matrices(MODEST), matrices(MODEST), matrices(MODEST, 1))
def test_merging_is_commutative(a: Floats, b: Floats, c: Floats):
    one, other = counted(a, c), counted(b)
    assert_alike(one + other, other + one)


@given(matrices(MODEST), matrices(MODEST), matrices(MODEST))
def test_merging_is_associative(a: Floats, b: Floats, c: Floats):
    x, y, z = counted(a), counted(b), counted(c)
    assert_alike((x + y) + z, x + (y + z))


@given(matrices(HOSTILE), matrices(HOSTILE, 1))
def test_zeros_are_the_identity_to_the_last_bit(a: Floats, b: Floats):
    counts = counted(a, b)
    assert counts + LAYOUT.zeros() == counts
    assert LAYOUT.zeros() + counts == counts


@given(matrices(MODEST), st.data())
def test_any_split_of_a_stream_counts_the_same(matrix: Floats, data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(matrix)), max_size=4)))
    total = LAYOUT.zeros()
    for start, stop in zip([0, *cuts], [*cuts, len(matrix)], strict=True):
        total += LAYOUT.count("input", matrix[start:stop])
    assert_alike(total, LAYOUT.count("input", matrix))


@given(matrices(HOSTILE), matrices(HOSTILE, 1))
def test_every_cell_holds_what_its_signal_says_of_each_value(a: Floats, b: Floats):
    """Groups are counted at once; a signal alone, value by value, is what it must come to."""
    counts = counted(a, b)
    columns = {"x": a[:, 0], "c": a[:, 1], "p": b[:, 0]}
    for signal in SIGNALS:
        expected = [0] * signal.partition.size
        for value in columns[signal.column]:
            (cell,) = signal.partition.cells(np.array([value])).tolist()
            if cell != NOT_COUNTED:
                expected[cell] += 1
        assert counts.of(signal.name).tolist() == expected, signal.name


@given(matrices(MODEST))
def test_moments_are_numpys(matrix: Floats):
    moments = counted(matrix).moments
    for column in range(2):
        finite = matrix[np.isfinite(matrix[:, column]), column]
        row = moments[LAYOUT.rows["input", ("x", "c")[column]]]
        assert row[COUNT] == len(finite)
        if not len(finite):
            assert row.tolist() == [0, 0, 0, math.inf, -math.inf]
            continue
        assert row[[LOW, HIGH]].tolist() == [finite.min(), finite.max()]
        assert row[MEAN] == pytest.approx(math.fsum(finite) / len(finite), rel=1e-9, abs=1e-9)
        exact = math.fsum((v - row[MEAN]) ** 2 for v in finite)
        assert row[M2] == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_moments_of_many_small_parts_stay_exact():
    """A large mean with a small spread, merged 5,000 times: no digit of the spread is lost."""
    values = 1e8 + np.random.default_rng(0).normal(size=50_000)
    total = LAYOUT.zeros().moments[0]
    for part in values.reshape(-1, 10):
        total = merge_moments(total, counted(np.column_stack([part, part])).moments[0])
    assert total[M2] / total[COUNT] == pytest.approx(np.var(values), rel=1e-9)


@settings(max_examples=150)
@given(matrices(MODEST), matrices(HOSTILE))
def test_hostile_floats_change_only_what_they_belong_to(good: Floats, bad: Floats):
    """A value adds one to exactly one cell of each signal of its column, or to none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = counted(np.concatenate([good, bad]))
        assert counts == counted(np.concatenate([good, bad]))
    before = counted(good)
    finite = {"x": np.isfinite(bad[:, 0]).sum(), "c": np.isfinite(bad[:, 1]).sum()}
    for signal in SIGNALS[:5]:
        added = counts.of(signal.name) - before.of(signal.name)
        assert (added >= 0).all()
        whole = signal.name == "x:missing"
        assert added.sum() == (len(bad) if whole else finite[signal.column])
    missing = counts.of("x:missing") - before.of("x:missing")
    assert missing[1] == len(bad) - finite["x"]
    assert np.isfinite(counts.moments[:2, [COUNT, MEAN, M2]]).all()
    # The other group does not know of it.
    assert counts.of("p").sum() == 0
    assert counts.moments[2].tolist() == LAYOUT.zeros().moments[2].tolist()


def test_a_column_of_hostile_values_leaves_its_neighbour_alone():
    random = np.random.default_rng(1)
    good = np.column_stack([random.normal(size=100), random.integers(0, 3, 100)])
    bad = good.copy()
    bad[:, 0] = np.resize(SPECIAL, 100)
    a, b = counted(good), counted(bad)
    for name in ("c", "c:unseen"):
        np.testing.assert_array_equal(a.of(name), b.of(name))
    np.testing.assert_array_equal(a.moments[1], b.moments[1])


def test_the_largest_values_many_times_over_stay_finite():
    counts = counted(np.array([[1.7e308, 0.0], [-1.7e308, 0.0]] * 50))
    for _ in range(60):  # 10²⁰ rows
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            moments = merge_moments(counts.moments, counts.moments)
        counts = Counts(LAYOUT, counts.cells, moments, counts.rows)
    assert np.isfinite(counts.moments[0]).all()
    assert counts.moments[0, [LOW, HIGH]].tolist() == [-1.7e308, 1.7e308]


@given(matrices(HOSTILE), matrices(HOSTILE, 1))
def test_bytes_are_lossless_and_of_constant_size(a: Floats, b: Floats):
    counts = counted(a, b)
    data = counts.to_bytes()
    again = Layout(SIGNALS, {"input": ["x", "c"], "output": ["p"]}).read(data)
    assert again == counts
    assert len(data) == len(LAYOUT.zeros().to_bytes())
    assert (again + again).rows.tolist() == (2 * counts.rows).tolist()


OTHERS = {
    "an edge": (
        [Signal("x", "input", "x", Continuous((-1.0, 0.0, 5e-324, 1.5))), *SIGNALS[1:]],
        {"input": ["x", "c"], "output": ["p"]},
    ),
    "the order": (SIGNALS[::-1], {"input": ["x", "c"], "output": ["p"]}),
    "a name": (
        [*SIGNALS[:-1], Signal("q", "output", "p", Continuous((0.5,)))],
        {"input": ["x", "c"], "output": ["p"]},
    ),
    "a column": (SIGNALS, {"input": ["x", "c", "d"], "output": ["p"]}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_counts_of_another_layout_are_refused(what: str):
    other = Layout(*OTHERS[what])
    assert other != LAYOUT
    with pytest.raises(MergeError):
        other.zeros() + LAYOUT.zeros()
    with pytest.raises(MergeError):
        other.read(LAYOUT.zeros().to_bytes())


@pytest.mark.parametrize("cut", [slice(0), slice(15), slice(-1), slice(1, None)])
def test_bytes_that_are_not_whole_are_refused(cut: slice):
    with pytest.raises(MergeError):
        LAYOUT.read(LAYOUT.zeros().to_bytes()[cut])


def test_equal_layouts_built_apart_are_equal():
    again = Layout(list(SIGNALS), {"output": ("p",), "input": ("x", "c"), "service": ()})
    assert again == LAYOUT
    assert hash(again) == hash(LAYOUT)
    assert again.zeros() + LAYOUT.zeros() == LAYOUT.zeros()


def test_adding_changes_neither_side():
    a, b = counted(np.ones((3, 2))), counted(np.zeros((2, 2)))
    before = a.to_bytes(), b.to_bytes()
    a + b
    assert (a.to_bytes(), b.to_bytes()) == before


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="two signals are named 'x'"):
        Layout([SIGNALS[0], SIGNALS[0]], {"input": ["x"]})
    with pytest.raises(ValueError, match=r"has 2 columns, got \(3, 1\)"):
        LAYOUT.count("input", np.ones((3, 1)))
    with pytest.raises(KeyError):
        LAYOUT.zeros().of("y")
