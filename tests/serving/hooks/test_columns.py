"""Columns of a request: all of them for the counts, the cheap ones for the client's warnings."""

from __future__ import annotations

import numpy as np
import pytest
import served

from driftline.metadata.errors import InputError
from driftline.serving.hooks.columns import Columns

COLUMNS = Columns(served.metadata())


def test_a_glance_is_those_columns_of_the_matrix_that_are_named():
    rows = served.rows(5, 1)
    chosen = COLUMNS.glanced("input")
    whole = COLUMNS.matrix("input", {"x": rows})
    assert 0 < len(chosen) < whole.shape[1]
    np.testing.assert_array_equal(COLUMNS.glance("input", {"x": rows}), whole[:, chosen])


def test_an_extractor_without_a_glance_gives_all_its_columns():
    """Of a classification none is dear, and a third party's need not know of glances."""
    scores = {"logits": served.rows(5, 1) @ served.weights()}
    whole = COLUMNS.matrix("output", scores)
    assert COLUMNS.glanced("output") == list(range(whole.shape[1]))
    np.testing.assert_array_equal(COLUMNS.glance("output", scores), whole)


def test_an_input_that_is_not_there_is_named():
    for made in (COLUMNS.matrix, COLUMNS.glance):
        with pytest.raises(InputError, match="is not there") as caught:
            made("input", {"y": served.rows(1, 1)})
        assert caught.value.field == "x"
