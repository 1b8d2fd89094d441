"""Rows by name come out in the network's order, coded, filled and standardised."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import Category, Tabular
from driftline.metadata.preprocess import PREPROCESSINGS, TablePreprocessing

FIELDS = ("age", Category("size", ("low", "high")))


def test_by_name_in_order_one_or_several_give_the_same_bits():
    made = TablePreprocessing(FIELDS, mean=(30, 0), std=(10, 1))
    one = made({"size": "high", "age": 45})
    assert one.tolist() == [1.5, 1.0]
    assert one.dtype == np.float32
    assert made([45, "high"]).tolist() == one.tolist()
    assert made([{"age": 45, "size": "high"}, {"age": 30, "size": "low"}]).tolist() == [
        [1.5, 1.0],
        [0.0, 0.0],
    ]


def test_missing_values_are_filled_before_standardising_or_stay():
    assert np.isnan(TablePreprocessing(FIELDS)({"size": "low"})[0])
    assert TablePreprocessing(FIELDS, fill=(20, 0), mean=(10, 0))({}).tolist() == [10.0, 0.0]


def test_without_settings_it_is_what_the_table_encodes():
    rows = [{"age": 1.5, "size": "low"}, {"age": None, "size": "unknown"}]
    wanted = Tabular(FIELDS).encode(rows)
    np.testing.assert_array_equal(TablePreprocessing(FIELDS, dtype="float64")(rows), wanted)


def test_it_survives_the_metadata():
    made = TablePreprocessing(FIELDS, fill=(1, 0), mean=(30, 0), std=(10, 1))
    assert PREPROCESSINGS.decode(PREPROCESSINGS.encode(made), "preprocessing.x") == made


def test_what_does_not_fit_is_named():
    with pytest.raises(InputError, match=r"rows\[0\].age: a number expected"):
        TablePreprocessing(FIELDS)({"age": "old"})
    with pytest.raises(InputError, match=r"rows\[0\].shoe: is not a column"):
        TablePreprocessing(FIELDS)({"shoe": 1})
    for name, values in (("mean", (1,)), ("std", (1, 0)), ("fill", (1, float("inf")))):
        with pytest.raises(SettingError, match=name):
            TablePreprocessing(FIELDS, **{name: values})
