"""JSON instances become arrays, or a reason that names the instance."""

from __future__ import annotations

import numpy as np
import pytest
import served

from driftline.metadata.errors import InputError
from driftline.metadata.schema import TensorSpec
from driftline.serving.hooks.columns import Columns
from driftline.serving.model.intake import Intake
from driftline.serving.model.preprocessing import preprocessings
from driftline.serving.model.tensors import tensor

X = TensorSpec("x", "float32", (None, 4))


def deep(levels):
    """A number in so many lists."""
    return [deep(levels - 1)] if levels else 1.0


def arrays_of(instances, specs, columns):
    """Of a model with these inputs."""
    metadata = served.metadata(inputs=specs)
    found = preprocessings(metadata, columns)
    return Intake(metadata, found, most=10, most_pixels=1_000).instances(instances)


@pytest.fixture(scope="module")
def columns():
    return Columns(served.metadata())


def test_lists_objects_by_column_and_objects_by_input_say_the_same(columns):
    lists = arrays_of([[1.0, 2.0, 3.0, 1]], (X,), columns)["x"]
    by_column = arrays_of([{"a0": 1.0, "size": "mid", "a2": 3.0, "a1": 2.0}], (X,), columns)["x"]
    by_input = arrays_of([{"x": [1.0, 2.0, 3.0, 1]}], (X,), columns)["x"]
    np.testing.assert_array_equal(lists, by_column)
    np.testing.assert_array_equal(lists, by_input)


def test_null_and_a_column_left_out_are_missing(columns):
    found = arrays_of([{"a0": None, "a1": 2.0, "size": "low"}], (X,), columns)["x"]
    assert np.isnan(found[0, [0, 2]]).all()
    assert np.isnan(arrays_of([[None, 1, 2, 0]], (X,), columns)["x"][0, 0])


@pytest.mark.parametrize(
    ("instances", "field", "reason"),
    [
        ([], "instances", "the batch is empty"),
        ([[1, 2, 3, 4], [1, 2]], "instances", r"instance 1 is of shape \[2\], the first has \[4\]"),
        ([[1, 2, [3], 4]], "instances", r"instance 0 is ragged: a list of 1 at \[0, 2\], a single"),
        ([[[1, 2], [3]]], "instances", r"a list of 1 at \[0, 1\], a list of 2 at \[0, 0\]$"),
        ([[1], [[2], 3]], "instances", r"1 is ragged: a single value at \[1, 1\], a list of 1"),
        ([deep(80)], "instances", "instance 0 is nested too deeply"),
        ([[1, 2, 3, "four"]], "instances", r"a number expected at \[0, 3\], got a string"),
        ([[1, 2, 3, {"a": 1}]], "instances", r"number expected at \[0, 3\], got an object"),
        ([[1, 2, 3, None], [1, 2, 3, "x"]], "instances", r"\[1, 3\], got a string"),
        ([[1, 2, 3, 10**400]], "instances", "too large"),
        ([[1, 2, 3, 4], {"a0": 1}], "instances", "either all instances are objects or none"),
        ([{"a0": 1, "b": 2}], "instances[0].b", "is not a column"),
        ([{"a0": "x"}], "instances[0].a0", "a number expected"),
        ([{"x": [1, 2, 3, 4], "y": 1}], "instances[0].y", "is no input"),
        ([{"x": [1, 2, 3, 4]}, {}], "instances[1].x", "is missing"),
        ([None], "instances", "shape|number"),
    ],
)
def test_what_is_no_array_is_refused(columns, instances, field, reason):
    from driftline.serving.model.signature import checked

    with pytest.raises(InputError, match=reason) as caught:
        checked(arrays_of(instances, (X,), columns), (X,), 10, "instances")
    assert caught.value.field == field


def test_several_inputs_want_objects(columns):
    specs = (X, TensorSpec("z", "float32", (None, 1)))
    with pytest.raises(InputError, match="objects with the inputs x, z expected"):
        arrays_of([[1, 2, 3, 4]], specs, columns)
    found = arrays_of([{"x": [1, 2, 3, 4], "z": [5]}], specs, columns)
    assert {name: array.shape for name, array in found.items()} == {"x": (1, 4), "z": (1, 1)}


def test_strings_stay_strings_where_the_signature_wants_them():
    assert tensor([["a"], ["b"]], TensorSpec("s", "string", (None, 1)), "s").tolist() == [
        ["a"],
        ["b"],
    ]


def test_whole_numbers_beyond_64_bits_are_numbers_where_floats_are_wanted():
    found = tensor([[2**70, 1]], TensorSpec("x", "float32", (None, 2)), "x")
    assert found.tolist() == [[float(2**70), 1.0]]
    with pytest.raises(InputError, match="too large"):
        tensor([[2**70, 1]], TensorSpec("x", "int64", (None, 2)), "x")
