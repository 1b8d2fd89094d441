"""`Tabular.encode`: rows as people send them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import Category, Number, Tabular

EXTRACTOR = Tabular(
    (Number("age"), Category("city", ("Bonn", "Oslo")), Category("zone", (10, 20)), Category("raw"))
)


def test_names_and_words_become_the_matrix():
    rows = [
        {"age": 31, "city": "Oslo", "zone": 10, "raw": 7},
        {"raw": 3.0, "zone": 20.0, "city": "Paris", "age": True},
        {},
        [1.5, "Bonn", 30, None],
        (None, None, None, None),
    ]
    nan = np.nan
    expected = [
        [31, 1, 0, 7],
        [1, -1, 1, 3],
        [nan, nan, nan, nan],
        [1.5, 0, -1, nan],
        [nan, nan, nan, nan],
    ]
    np.testing.assert_array_equal(EXTRACTOR.encode(rows), expected)


def test_the_code_of_unseen_words_can_be_chosen():
    field = Category("c", ("a", "b"), unseen=2)
    assert Tabular((field,)).encode([["a"], ["z"]]).tolist() == [[0.0], [2.0]]
    with pytest.raises(SettingError, match=r"fields\.unseen"):
        Category("c", ("a", "b"), unseen=1)


def test_numpy_scalars_are_values_too():
    row = [np.float32(2.5), "Bonn", np.int64(20), np.int8(3)]
    assert EXTRACTOR.encode([row]).tolist() == [[2.5, 0.0, 1.0, 3.0]]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"age": "old"}, "input[1].age"),
        ({"age": [1]}, "input[1].age"),
        ({"age": 10**400}, "input[1].age"),
        ({"city": 1.5}, "input[1].city"),
        ({"city": {}}, "input[1].city"),
        ({"raw": "Bonn"}, "input[1].raw"),
        ({"raw": 2**60}, "input[1].raw"),
        ({"height": 3}, "input[1].height"),
        ([1, 2], "input[1]"),
        ("abcd", "input[1]"),
        (3, "input[1]"),
        (None, "input[1]"),
    ],
)
def test_what_does_not_fit_is_named_by_row_and_column(row: object, field: str):
    with pytest.raises(InputError) as caught:
        EXTRACTOR.encode([{}, row])
    assert caught.value.field == field
    assert len(caught.value.reason) < 120


def test_a_wrong_type_that_is_not_refused_raises_the_flag():
    rows = [{"age": "old"}, {"age": 3}, {"raw": "x"}, {"city": 2.5}, {"city": "Rome"}]
    matrix = EXTRACTOR.encode(rows, strict=False)
    assert EXTRACTOR.extract(matrix)[:, 4].tolist() == [1, 0, 1, 1, 0]


def test_no_rows_are_an_empty_matrix():
    assert EXTRACTOR.encode([]).shape == (0, 4)


def test_a_vocabulary_holds_no_word_twice():
    with pytest.raises(SettingError, match="twice"):
        Category("c", ("a", "b", "a"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.lists(st.lists(json_values, min_size=4, max_size=4), max_size=4))
def test_any_json_is_encoded_or_refused_by_name(rows: list[list[object]]):
    matrix = EXTRACTOR.encode(rows, strict=False)
    assert matrix.shape == (len(rows), 4)
    if np.isinf(matrix).any() and not any(v in (np.inf, -np.inf) for row in rows for v in row):
        with pytest.raises(InputError, match=r"^input\[\d+\]\.\w+: .* expected, got"):
            EXTRACTOR.encode(rows)
