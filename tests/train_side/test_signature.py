"""The signature that arrays show."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.errors import InputError
from driftline.metadata.schema import TensorSpec
from driftline.train_side.signature import Signature


def seen(*arrays):
    signature = Signature()
    for array in arrays:
        signature.observe({"x": array})
    return signature.specs


def test_the_batch_is_open_and_other_lengths_are_fixed():
    assert seen(np.zeros((4, 3), np.float32)) == (TensorSpec("x", "float32", (None, 3)),)


def test_a_length_that_varied_is_open():
    found = seen(np.zeros((4, 3, 5), np.int64), np.zeros((2, 7, 5), np.int64))
    assert found == (TensorSpec("x", "int64", (None, None, 5)),)


def test_missing_values_are_allowed_if_they_were_there():
    rows = np.zeros((4, 3), np.float32)
    holed = rows.copy()
    holed[0, 0] = np.nan
    assert seen(rows, holed, rows)[0].allow_missing
    assert not seen(rows)[0].allow_missing


@pytest.mark.parametrize("second", [np.zeros((4, 3), np.float64), np.zeros((4, 3, 1), np.float32)])
def test_a_changed_type_or_rank_is_refused(second):
    with pytest.raises(InputError, match="x: was float32"):
        seen(np.zeros((4, 3), np.float32), second)
