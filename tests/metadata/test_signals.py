"""Values fall into the cells that the definitions say, one by one."""

from __future__ import annotations

import math
import warnings

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from driftline.metadata.signals import (
    NOT_COUNTED,
    Categorical,
    Continuous,
    Flag,
    Missing,
    Outside,
    Partition,
    Signal,
    Unseen,
)

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1e308, 3.0]
ANY = st.sampled_from(SPECIAL) | st.floats(width=64)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ASCENDING = st.lists(FINITE, max_size=8, unique_by=lambda v: v + 0.0).map(
    lambda v: tuple(sorted(v))
)
VALUES = hnp.arrays(np.float64, st.integers(0, 12), elements=ANY)


@given(ASCENDING, VALUES)
def test_a_continuous_cell_is_the_number_of_edges_not_above_the_value(edges, values):
    expected = [
        sum(edge <= v for edge in edges) if math.isfinite(v) else NOT_COUNTED for v in values
    ]
    assert Continuous(edges).cells(values).tolist() == expected


@given(ASCENDING, VALUES)
def test_a_category_is_its_place_among_the_known_or_other(known, values):
    def cell(value: float) -> int:
        if not math.isfinite(value):
            return NOT_COUNTED
        return known.index(value) if value in known else len(known)

    assert Categorical(known).cells(values).tolist() == [cell(v) for v in values]


@given(VALUES, ASCENDING, st.none() | FINITE, st.none() | FINITE)
def test_flags_are_what_their_condition_says(values, known, low, high):
    def outside(v: float) -> bool:
        return (low is not None and v < low) or (high is not None and v > high)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        missing = Flag(Missing()).cells(values).tolist()
        ranged = Flag(Outside(low, high)).cells(values).tolist()
        unseen = Flag(Unseen(known)).cells(values).tolist()
    for i, v in enumerate(values.tolist()):
        finite = math.isfinite(v)
        assert missing[i] == (not finite)
        assert ranged[i] == (int(outside(v)) if finite else NOT_COUNTED)
        assert unseen[i] == (int(v not in known) if finite else NOT_COUNTED)


@pytest.mark.parametrize("atom", [0.0, -0.0, 1.0, -2.5, 5e-324, 1e300])
def test_an_atom_is_a_cell_of_its_own(atom: float):
    partition = Continuous((atom, float(np.nextafter(atom, np.inf))))
    below, above = np.nextafter(atom, -np.inf), np.nextafter(atom, np.inf)
    assert partition.cells(np.array([below, atom, above])).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "partition",
    [
        Continuous((-1e308, -5e-324, 0.1, 5e-324 + 1)),
        Categorical((0.0, 3.0)),
        Flag(Missing()),
        Flag(Outside(0.1)),
        Flag(Unseen((1.0,))),
    ],
)
def test_json_keeps_every_bit(partition: Partition):
    signal = Signal("s", "input", "c", partition)
    again = msgspec.json.decode(msgspec.json.encode(signal), type=Signal)
    assert again == signal
    assert again.kind in ("continuous", "categorical", "flag")
