"""Right and wrong, counted, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import confusion_matrix, mean_absolute_error, root_mean_squared_error

from driftline.train_side import Classification, Regression, Vector
from driftline.train_side.scores import ClassScores, ErrorScores, calibrated, scores_of

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(0, 2, size=(500, 3))
LABELS = (LOGITS / 2 + RANDOM.gumbel(size=LOGITS.shape)).argmax(axis=1)
NAMES = ("a", "b", "c")


def counted(task, output, label):
    scores = ClassScores(task)
    for at in range(0, len(label), 64):
        scores.add(output[at : at + 64], label[at : at + 64])
    return scores


def test_the_confusion_matrix_is_scikit_learns():
    scores = counted(Classification(NAMES), LOGITS, LABELS)
    wanted = confusion_matrix(LABELS, LOGITS.argmax(axis=1))
    np.testing.assert_array_equal(scores.confusion, wanted)
    quality = scores.quality(1.0, 0.0, 0.0)
    assert quality.accuracy == (LOGITS.argmax(axis=1) == LABELS).mean()
    assert quality.rows == 500


def test_rows_without_a_class_or_without_scores_do_not_count():
    output, label = LOGITS.copy(), LABELS.copy()
    output[0, 1], label[1] = np.nan, -1
    assert counted(Classification(NAMES), output, label).confusion.sum() == 498


def test_a_merge_counts_both():
    left = counted(Classification(NAMES), LOGITS[:200], LABELS[:200])
    left.merge(counted(Classification(NAMES), LOGITS[200:], LABELS[200:]))
    whole = counted(Classification(NAMES), LOGITS, LABELS)
    np.testing.assert_array_equal(left.confusion, whole.confusion)
    assert left.rows == 500


def test_multi_label_decisions_are_counted_class_by_class():
    label = (RANDOM.random((500, 3)) < expit(LOGITS)).astype(np.float32)
    scores = counted(Classification(NAMES, head="multilabel"), LOGITS, label)
    wanted = confusion_matrix(label.ravel() > 0.5, LOGITS.ravel() >= 0)
    np.testing.assert_array_equal(scores.confusion, wanted)


def test_every_head_of_the_same_probabilities_has_the_same_temperature():
    """Logits and their softmax; a logit, its logistic and two classes' scores."""
    by_logits, errors = calibrated(Classification(NAMES), LOGITS, LABELS)
    p = softmax(LOGITS, axis=1)
    by_p, same = calibrated(Classification(NAMES, head="probabilities"), p, LABELS)
    assert by_p.temperature == pytest.approx(by_logits.temperature, rel=1e-5)
    assert same == pytest.approx(errors, abs=1e-9)

    score, hit = LOGITS[:, :1], (RANDOM.random(500) < expit(LOGITS[:, 0] / 3)).astype(int)
    found = [
        calibrated(Classification(("no", "yes"), head=head), output, hit)[0].temperature
        for head, output in (
            ("sigmoid", score),
            ("sigmoid_probability", expit(score)),
            ("logits", np.concatenate([0 * score, score], axis=1)),
        )
    ]
    assert found == pytest.approx([found[0]] * 3, rel=1e-5)
    assert found[0] == pytest.approx(3, rel=0.3)


def test_multi_label_temperature_is_that_of_its_decisions():
    label = (RANDOM.random(LOGITS.shape) < expit(LOGITS / 2)).astype(int)
    task = Classification(NAMES, head="multilabel")
    single = Classification(("no", "yes"), head="sigmoid")
    found = calibrated(task, LOGITS, label)[0].temperature
    wanted = calibrated(single, LOGITS.reshape(-1, 1), label.ravel())[0].temperature
    assert found == pytest.approx(wanted)


def test_an_earlier_temperature_is_no_start():
    warm = Classification(NAMES, temperature=5.0)
    cold = Classification(NAMES)
    assert calibrated(warm, LOGITS, LABELS)[0] == calibrated(cold, LOGITS, LABELS)[0]


def test_calibration_lowers_the_error_of_an_overconfident_model():
    _, (before, after) = calibrated(Classification(NAMES), LOGITS * 3, LABELS)
    assert after < before / 2


def test_errors_are_scikit_learns():
    truth = RANDOM.normal(size=(100, 2))
    found = truth + RANDOM.normal(0, 0.3, size=truth.shape)
    scores = ErrorScores()
    for at in (0, 50):
        scores.add(found[at : at + 50], truth[at : at + 50])
    quality = scores.quality()
    assert quality.mae == pytest.approx(mean_absolute_error(truth, found))
    wanted = root_mean_squared_error(truth.ravel(), found.ravel())
    assert quality.rmse == pytest.approx(wanted)


def test_targets_that_are_missing_do_not_count():
    scores = ErrorScores()
    scores.add(np.array([1.0, 2.0]), np.array([[0.0], [np.nan]]))
    assert scores.quality().mae == 1.0


def test_errors_merge():
    left, right = ErrorScores(), ErrorScores()
    left.add(np.array([1.0]), np.array([0.0]))
    right.add(np.array([4.0]), np.array([1.0]))
    left.merge(right)
    assert (left.rows, left.quality().mae) == (2, 2.0)


def test_without_a_value_there_is_no_error():
    assert ErrorScores().quality().mae is None


def test_only_predictions_have_scores():
    assert isinstance(scores_of(Classification(NAMES)), ClassScores)
    assert isinstance(scores_of(Regression()), ErrorScores)
    assert scores_of(Vector()) is None
