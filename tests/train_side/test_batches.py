"""Batches from datasets, iterables and training steps."""

from __future__ import annotations

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor
from trainings import dataset

from driftline.metadata.errors import InputError
from driftline.train_side.batches import batch_of, batches, input_names, to_array

X = np.arange(20.0, dtype=np.float32).reshape(10, 2)
Y = np.arange(10, dtype=np.int32)


def test_a_dataset_is_read_once_and_can_be_read_again():
    source = dataset({"x": X, "y": Y}, batch=4)
    for _ in range(2):
        found = list(batches(source))
        np.testing.assert_array_equal(np.concatenate([each.inputs[0] for each in found]), X)
        np.testing.assert_array_equal(np.concatenate([each.label for each in found]), Y)
        assert [each.rows for each in found] == [4, 4, 2]


def test_an_iterable_of_arrays_or_tensors_does_as_well():
    found = list(batches([(X, Y), (Tensor(X), Tensor(Y))]))
    np.testing.assert_array_equal(found[0].inputs[0], found[1].inputs[0])
    assert found[1].bytes == X.nbytes + Y.nbytes


def test_no_more_batches_are_read_than_are_wanted():
    source = iter([(X, Y)] * 5)
    assert sum(each.rows for each in batches(source, most_rows=15)) == 20
    assert len(list(source)) == 3


def test_a_copy_does_not_follow_its_original():
    original = X.copy()
    batch = batch_of((original, Y), copy=True)
    original[:] = 0
    np.testing.assert_array_equal(batch.inputs[0], X)


def test_half_floats_that_numpy_lacks_become_float32():
    found = to_array(Tensor(X, ms.bfloat16))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ((X,), r"\(inputs…, label\) expected, got 1 part"),
        ((X, Y[:3]), r"the batch as first axis, got \[10, 2\], \[3\]"),
        ((X, np.float32(1)), r"the batch as first axis, got \[10, 2\], \[\]"),
    ],
)
def test_what_is_no_batch_is_refused(element, reason):
    with pytest.raises(InputError, match=reason):
        batch_of(element)


def test_inputs_have_the_names_of_the_datasets_columns():
    assert input_names(dataset({"x": X, "z": X, "y": Y}), 2) == ("x", "z")


@pytest.mark.parametrize(("inputs", "names"), [(1, ("input",)), (2, ("input_0", "input_1"))])
def test_without_names_inputs_are_numbered(inputs, names):
    assert input_names([(X, Y)], inputs) == names
