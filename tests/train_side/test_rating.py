"""What a package says so that a service can rate predictions: from arrays, without a training."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.extract import Classification, Joined, Regression
from driftline.metadata.fitting import fit_reference
from driftline.metadata.quality import Quality
from driftline.metadata.sample import RowSample
from driftline.train_side.rating import rated

CLASSES = ("a", "b", "c")


def reference(tasks, arrays):
    joined = Joined(tasks)
    matrix = joined.extract(arrays)
    sample = RowSample(matrix.shape[1])
    sample.add(matrix)
    return fit_reference({"output": sample}, {"output": joined.columns()}, source="held_out")


@pytest.fixture(scope="module")
def outputs():
    random = np.random.default_rng(1)
    logits = random.normal(size=(2_000, 3)) * 2
    label = np.array([random.choice(3, p=row) for row in softmax(logits)])
    return logits, label


def softmax(logits):
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("several", [False, True])
def test_reliability_is_of_the_first_tasks_calibrated_confidence(outputs, several):
    logits, label = outputs
    tasks = {"y": Classification(CLASSES, temperature=2.0)}
    arrays = {"y": logits}
    if several:
        tasks["price"], arrays["price"] = Regression(), logits[:, 0]
    found = rated(Quality(rows=2_000), reference(tasks, arrays), tasks, arrays, label)
    assert found is not None
    assert found.reliability is not None
    assert found.reliability.signal == ("y.top_probability" if several else "top_probability")
    assert sum(found.reliability.rows) == 2_000
    assert sum(found.reliability.right) == (logits.argmax(axis=1) == label).sum()
    p = softmax(logits / 2)
    mean = np.average(found.reliability.confidence, weights=found.reliability.rows)
    assert mean == pytest.approx(p.max(axis=1).mean())
    # The signal's cells hold equally many of the rows that they were made of.
    assert np.ptp(found.reliability.rows) <= 40


def test_labels_that_are_no_class_and_scores_that_are_no_numbers_are_left_out(outputs):
    logits, label = outputs[0].copy(), outputs[1].astype(float)
    logits[:10] = np.nan
    label[10:30] = -1
    tasks, arrays = {"y": Classification(CLASSES)}, {"y": logits}
    found = rated(Quality(rows=2_000), reference(tasks, arrays), tasks, arrays, label)
    assert sum(found.reliability.rows) == 1_970  # type: ignore[union-attr]


def test_one_target_has_a_usual_error_and_two_have_none():
    random = np.random.default_rng(2)
    y = random.normal(size=(999, 2))
    truth = y + random.normal(size=y.shape)
    tasks, arrays = {"y": Regression()}, {"y": y[:, :1]}
    found = rated(Quality(rows=999), reference(tasks, arrays), tasks, arrays, truth[:, 0])
    usual = found.usual_error  # type: ignore[union-attr]
    assert (usual.within, usual.rows) == (900, 999)
    assert (np.abs(y[:, 0] - truth[:, 0]) <= usual.limit).sum() == 900
    tasks, arrays = {"y": Regression(("a", "b"))}, {"y": y}
    found = rated(Quality(rows=999), reference(tasks, arrays), tasks, arrays, truth)
    assert found.usual_error is None  # type: ignore[union-attr]


def test_a_multi_label_row_is_right_when_every_class_is(outputs):
    logits, label = outputs
    tasks, arrays = {"y": Classification(CLASSES, head="multilabel")}, {"y": logits}
    hits = np.eye(3)[label]
    found = rated(Quality(rows=2_000), reference(tasks, arrays), tasks, arrays, hits)
    assert found is not None
    assert found.reliability is None
    assert found.exact_rows == 2_000
    assert found.exact_right == ((logits >= 0) == hits).all(axis=1).sum()


def test_what_cannot_be_rated_is_left_as_it_is(outputs):
    logits, label = outputs
    tasks, arrays = {"y": Classification(CLASSES)}, {"y": logits}
    assert rated(None, reference(tasks, arrays), tasks, arrays, label) is None
