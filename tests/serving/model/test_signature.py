"""Arrays that do not fit the model's signature are refused, with the field and the reason."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.errors import InputError
from driftline.metadata.schema import TensorSpec
from driftline.serving.model.signature import cast, checked, refuse_missing

IMAGE = TensorSpec("image", "float32", (None, 1, 2, 2))
ROW = TensorSpec("x", "float32", (None, 3))
CODE = TensorSpec("code", "uint8", (None, 2))


def test_a_fitting_array_comes_out_in_the_signatures_type():
    found = checked({"x": np.array([[1, 2, 3]])}, (ROW,), 10, "instances")
    assert found["x"].dtype == np.float32
    assert found["x"].tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("arrays", "field", "reason"),
    [
        ({"x": np.zeros((2, 4))}, "instances", r"shape \[n, 3\] expected, got \[2, 4\]"),
        ({"x": np.zeros(3)}, "instances", r"shape \[n, 3\] expected, got \[3\]"),
        ({"x": np.zeros((1, 3, 1))}, "instances", "shape"),
        ({"x": np.zeros((0, 3))}, "instances", "the batch is empty"),
        ({"x": np.zeros((11, 3))}, "instances", "at most 10 instances a request, got 11"),
        ({"x": np.array([["a", "b", "c"]])}, "instances", "numbers expected, got strings"),
        ({"x": np.zeros((1, 3), bool)}, "instances", "numbers expected, got booleans"),
        ({"x": np.zeros((1, 3), complex)}, "instances", "numbers expected"),
        ({"x": np.full((1, 3), 1e300)}, "instances", "too large for float32"),
        ({}, "instances", "is missing"),
        ({"x": np.zeros((1, 3)), "y": np.zeros(1)}, "instances.y", "is no input"),
    ],
)
def test_what_does_not_fit_is_refused(arrays, field, reason):
    with pytest.raises(InputError, match=reason) as caught:
        checked(arrays, (ROW,), 10, "instances")
    assert caught.value.field == field


def test_a_length_that_the_signature_leaves_open_may_be_any():
    spec = TensorSpec("x", "float32", (None, None))
    assert checked({"x": np.zeros((1, 7))}, (spec,), 10, "f")["x"].shape == (1, 7)


def test_inputs_of_different_length_are_refused():
    with pytest.raises(InputError, match="different numbers of rows"):
        checked({"x": np.zeros((1, 3)), "code": np.zeros((2, 2))}, (ROW, CODE), 10, "inputs")


@pytest.mark.parametrize(
    ("values", "reason"),
    [([[1.5, 2.0]], "fractions"), ([[256, 0]], "outside uint8"), ([[-1, 0]], "outside uint8")],
)
def test_whole_numbers_are_not_rounded_or_wrapped(values, reason):
    with pytest.raises(InputError, match=reason):
        cast(np.array(values), CODE, "code")


def test_missing_values_are_refused_by_place_unless_the_signature_allows_them():
    array = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, np.inf]], np.float32)
    with pytest.raises(InputError, match=r"the value at \[1, 1\] is missing or not finite"):
        refuse_missing({"x": array}, (ROW,), "instances")
    refuse_missing({"x": array}, (TensorSpec("x", "float32", (None, 3), True),), "instances")


def test_infinities_that_were_there_before_are_no_overflow():
    assert np.isinf(cast(np.array([[np.inf, 1.0, 2.0]]), ROW, "x")).sum() == 1


def test_images_have_all_their_axes_checked():
    with pytest.raises(InputError, match=r"\[n, 1, 2, 2\] expected, got \[1, 2, 2, 1\]"):
        checked({"image": np.zeros((1, 2, 2, 1))}, (IMAGE,), 10, "instances")
