"""Statistics of the training data: they only add, whatever the batches were."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.train_side import Classification, Image, Number, Regression, Tabular, Tokens
from driftline.train_side.batches import Batch
from driftline.train_side.statistics import DataStatistics

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(600, 2))
LABELS = RANDOM.integers(0, 3, size=600)
TASK = Classification(("a", "b", "c"))


def table(extractor=None):
    return DataStatistics({"x": extractor or Tabular(("p", "q"), joint=False)}, ("x",), TASK)


def filled(statistics, x=TABLE, label=LABELS, size=50):
    for at in range(0, len(x), size):
        statistics.add(Batch((x[at : at + size],), label[at : at + size]))
    statistics.settle()
    return statistics


def test_columns_have_numpys_moments():
    x = TABLE.copy()
    x[:7, 1] = np.nan
    column = filled(table(), x).stats().columns["q"]
    known = x[7:, 1]
    assert (column.count, column.missing) == (593, 7)
    assert column.mean == pytest.approx(known.mean())
    assert column.sd == pytest.approx(known.std(ddof=1))
    assert (column.low, column.high) == (known.min(), known.max())


def test_a_column_without_a_value_has_no_moments():
    x = TABLE.copy()
    x[:, 0] = np.nan
    column = filled(table(), x).stats().columns["p"]
    assert (column.count, column.missing, column.mean, column.sd) == (0, 600, None, None)


@pytest.mark.parametrize("size", [1, 7, 600])
def test_how_the_data_was_cut_into_batches_does_not_show(size):
    found, wanted = filled(table(), size=size).stats(), filled(table()).stats()
    assert found.rows == wanted.rows
    assert found.label_distribution == wanted.label_distribution
    for name, column in wanted.columns.items():
        assert found.columns[name].mean == pytest.approx(column.mean)
        assert found.columns[name].sd == pytest.approx(column.sd)


def test_merging_two_ranks_gives_the_statistics_of_all_rows():
    left, right = (
        filled(table(), TABLE[:250], LABELS[:250]),
        filled(table(), TABLE[250:], LABELS[250:]),
    )
    assert left.merge(right)
    found, wanted = left.stats(), filled(table()).stats()
    assert found.rows == 600
    assert found.label_distribution == pytest.approx(wanted.label_distribution)
    assert found.columns["p"].sd == pytest.approx(wanted.columns["p"].sd)


def test_a_rank_that_saw_nothing_changes_nothing():
    left, right = filled(table()), filled(table(), TABLE[:0], LABELS[:0])
    assert left.merge(right)
    assert left.stats() == filled(table()).stats()
    assert right.merge(filled(table()))
    assert right.stats() == left.stats()


def test_columns_that_were_fitted_otherwise_stay_out_of_a_merge():
    ids = RANDOM.integers(0, 50, size=(200, 4))
    labels = LABELS[:200]
    left = DataStatistics({"x": Tokens()}, ("x",), TASK)
    right = DataStatistics({"x": Tokens()}, ("x",), TASK)
    filled(left, ids, labels), filled(right, ids + 1000, labels)
    assert not left.merge(right)
    assert left.rows == 400
    assert left.stats().columns["length"].count == 200


def test_extractors_are_fitted_on_the_first_rows_and_count_them_too():
    statistics = filled(table(Tabular(("p", "q"))))
    stats = statistics.stats()
    assert statistics.parts["x"].projection is not None
    assert stats.columns["joint_distance"].count == 600


def test_sequences_may_be_of_another_length_in_each_batch():
    statistics = DataStatistics({"x": Tokens(vocabulary=50)}, ("x",), TASK)
    for length in (3, 5, 5, 8):
        ids = RANDOM.integers(0, 50, size=(20, length))
        statistics.add(Batch((ids,), LABELS[:20]))
    statistics.settle()
    column = statistics.stats().columns["length"]
    assert (column.count, column.low, column.high) == (80, 3, 8)
    assert statistics.parts["x"].top != ()


def test_a_constant_column_has_no_deviation():
    x = np.full((100, 2), 3.0)
    assert filled(table(), x, LABELS[:100]).stats().columns["p"].sd == 0.0


@pytest.mark.parametrize(("layout", "axes"), [("NCHW", (0, 2, 3)), ("NHWC", (0, 1, 2))])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_image_mean_and_std_are_over_all_pixels_of_a_channel(layout, axes, dtype):
    shape = (60, 3, 5, 4) if layout == "NCHW" else (60, 5, 4, 3)
    scale = np.arange(1, 4).reshape((3, 1, 1) if layout == "NCHW" else (3,))
    images = (RANDOM.random(shape) * 60 * scale).astype(dtype)
    statistics = DataStatistics({"x": Image(layout=layout)}, ("x",), TASK)
    stats = filled(statistics, images, LABELS[:60], size=7).stats()
    assert stats.image_mean == pytest.approx(images.mean(axis=axes, dtype=np.float64))
    assert stats.image_std == pytest.approx(images.std(axis=axes, dtype=np.float64))


def test_the_image_may_be_one_of_several_inputs():
    parts = {"x": Tabular((Number("p"),)), "photo": Image()}
    statistics = DataStatistics(parts, ("x", "photo"), TASK)
    images = RANDOM.random((20, 1, 4, 4))
    statistics.add(Batch((TABLE[:20, :1], images), LABELS[:20]))
    statistics.settle()
    stats = statistics.stats()
    assert stats.image_mean == pytest.approx([images.mean()])
    assert {"x.p", "photo.mean_0"} <= stats.columns.keys()


def test_an_input_without_an_extractor_is_let_be():
    statistics = DataStatistics({"x": Tabular((Number("p"),))}, ("mask", "x"), TASK)
    statistics.add(Batch((np.array([["any"]] * 20), TABLE[:20, :1]), LABELS[:20]))
    statistics.settle()
    assert statistics.stats().columns["p"].count == 20


def test_multi_label_shares_are_of_all_labels():
    task = Classification(("a", "b"), head="multilabel")
    statistics = DataStatistics({"x": Tabular(("p", "q"))}, ("x",), task)
    statistics.add(Batch((TABLE[:4],), np.array([[1, 0], [1, 1], [1, 0], [0, 0]])))
    statistics.settle()
    assert statistics.stats().label_distribution == {"a": 0.75, "b": 0.25}


def test_labels_that_are_no_class_are_counted_apart():
    statistics = filled(table(), label=np.where(LABELS == 0, 9, LABELS))
    assert statistics.unknown_labels == (LABELS == 0).sum()
    assert statistics.stats().label_distribution["a"] == 0.0


def test_a_regression_target_has_moments_and_missing_values():
    statistics = DataStatistics({"x": Tabular(("p", "q"))}, ("x",), Regression())
    target = np.append(np.arange(19.0), np.nan)
    statistics.add(Batch((TABLE[:20],), target))
    statistics.settle()
    label = statistics.stats().label
    assert (label.count, label.missing, label.mean) == (19, 1, 9.0)
    assert statistics.stats().label_distribution is None
