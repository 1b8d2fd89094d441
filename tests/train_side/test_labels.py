"""Labels of every form that trainings hold."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from driftline.metadata.errors import InputError
from driftline.train_side.labels import NO_CLASS, class_codes, class_hits, distribution


@pytest.mark.parametrize(
    "label",
    [
        np.array([0, 2, 1]),
        np.array([0.0, 2.0, 1.0]),
        np.array([[0], [2], [1]], np.int32),
        np.eye(3)[[0, 2, 1]],
        np.eye(3, dtype=np.float32)[[0, 2, 1]] * 0.9 + 0.03,
    ],
    ids=["codes", "float codes", "column", "one-hot", "smoothed"],
)
def test_codes_and_scores_name_the_same_classes(label):
    assert class_codes(label, 3).tolist() == [0, 2, 1]


def test_what_is_no_class_is_called_so():
    label = np.array([0, -1, 3, np.nan, np.inf, 0.5])
    assert class_codes(label, 3).tolist() == [0, *[NO_CLASS] * 5]


def test_true_and_false_are_the_two_classes():
    assert class_codes(np.array([True, False]), 2).tolist() == [1, 0]


def test_a_label_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"label: shape \[n\], \[n, 1\] or \[n, 3\] expected"):
        class_codes(np.zeros((4, 2)), 3)


def test_multi_label_scores_are_cut_at_one_half():
    assert class_hits(np.array([[0.9, 0.1], [0.5, 1.0]]), 2).tolist() == [
        [True, False],
        [False, True],
    ]


def test_multi_label_scores_of_another_width_are_refused():
    with pytest.raises(InputError, match=r"shape \[n, 3\] expected, got \[4, 2\]"):
        class_hits(np.zeros((4, 2)), 3)


def test_classes_that_never_came_have_a_share_of_zero():
    counts = Counter({0: 3, 1: 1, NO_CLASS: 4})
    assert distribution(counts, ["a", "b", "c"]) == {"a": 0.75, "b": 0.25, "c": 0.0}


def test_without_a_label_there_is_no_distribution():
    assert distribution(Counter({NO_CLASS: 4}), ["a", "b"]) is None
