"""What `.npy` may hold is told by its own bytes, never by running them."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.metadata.errors import InputError
from driftline.serving.model.npy import npy


def saved(array: np.ndarray) -> bytes:
    body = io.BytesIO()
    np.save(body, array)
    return body.getvalue()


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", ">i4", "f2", "f8", "U5", "S3"])
def test_what_numpy_saved_is_read(dtype):
    array = np.arange(6).astype(dtype).reshape(2, 3)
    found = npy(saved(array))
    assert found.dtype.byteorder in "=|<"
    assert found.tolist() == [
        [str(v, "utf-8") if dtype == "S3" else v for v in r] for r in array.tolist()
    ]


@given(st.binary(max_size=200), st.integers(0, 140))
def test_no_damage_raises_anything_but_an_input_error(junk, at):
    body = saved(np.zeros((2, 3), np.float32))
    with contextlib.suppress(InputError):
        npy(body[:at] + junk + body[at + len(junk) :])
