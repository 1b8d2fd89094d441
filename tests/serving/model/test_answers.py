"""Outputs become what people read, and warnings name what is odd."""

from __future__ import annotations

import numpy as np
import pytest
import served

from driftline.metadata.extract import Classification
from driftline.serving.hooks.columns import Columns
from driftline.serving.model.answers import Answers, Oddities, classified

METADATA = served.metadata()
COLUMNS = Columns(METADATA)


def test_a_classifier_answers_with_label_confidence_and_probabilities():
    logits = np.log(np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]))
    first, second = Answers(METADATA, COLUMNS).predictions({"logits": logits})
    assert (first["label"], second["label"]) == ("red", "blue")
    assert first["confidence"] == pytest.approx(0.7)
    assert first["probabilities"] == pytest.approx({"red": 0.7, "green": 0.2, "blue": 0.1})


def test_scores_that_are_no_numbers_give_no_label():
    (answer,) = Answers(METADATA, COLUMNS).predictions({"logits": np.full((1, 3), np.nan)})
    assert answer["label"] is None
    assert answer["confidence"] is None


def test_a_multi_label_head_names_every_class_at_one_half_or_more():
    part = Classification(("a", "b", "c"), head="multilabel_probability")
    (answer,) = classified(part, np.array([[0.5, 0.2, 0.9]]))
    assert answer["labels"] == ["a", "c"]
    assert answer["confidence"] == 0.9


def test_outputs_that_nothing_explains_are_given_as_they_are():
    bare = served.metadata(extractions=METADATA.extractions[:1])
    columns = Columns.__new__(Columns)
    columns._parts = {}
    found = Answers(bare, columns).predictions({"logits": np.array([[1.0, 2.0, 3.0]])})
    assert found == [{"output": [1.0, 2.0, 3.0]}]


def warnings(row, outputs=None, limit: float | None = 0.3):
    inputs = COLUMNS.matrix("input", {"x": np.array([row], np.float32)})
    answers, confidence = Answers(METADATA, COLUMNS), None
    if outputs is not None:
        confidence = answers.confidence(answers.predictions({"logits": np.array([outputs])}))
    return Oddities(METADATA, low_confidence=limit).warnings(inputs, confidence)


def test_values_outside_of_the_reference_are_named_with_its_range():
    (found,) = warnings([0.0, 99.0, 0.0, 1])
    assert (found["code"], found["instance"], found["field"]) == ("out_of_range", 0, "a1")
    assert "a1 is 99" in found["message"]
    assert warnings([0.0, 0.1, 0.2, 1]) == []


def test_missing_values_are_named():
    (found,) = warnings([np.nan, 0.0, 0.0, 1])
    assert (found["code"], found["field"]) == ("missing", "a0")


def test_little_confidence_is_named_below_the_limit_only():
    flat = [0.0, 0.0, 0.001]
    (found,) = warnings([0, 0, 0, 1], flat, limit=0.4)
    assert found["code"] == "low_confidence"
    assert warnings([0, 0, 0, 1], flat, limit=0.3) == []
    assert warnings([0, 0, 0, 1], flat, limit=None) == []


def test_warnings_are_bounded():
    inputs = COLUMNS.matrix("input", {"x": np.full((100, 4), 1e6, np.float32)})
    found = Oddities(METADATA, low_confidence=0.3, most=10).warnings(inputs, None)
    assert len(found) == 11
    assert found[-1]["message"] == "290 more warnings"
