"""What each kind of task is answered: classes, two classes, labels, values, several outputs."""

from __future__ import annotations

import numpy as np
import pytest
from kinds import KINDS, PIXELS, ROWS, W

from driftline.serving.app import plan_of, wired
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.model.engine import Engine
from driftline.serving.settings import load


@pytest.fixture
def predictions_of(tmp_path):
    monitors = []

    def ask(kind: str, instances: list) -> list:
        package = KINDS[kind].package(tmp_path / "package")
        chosen = load({"package": str(package.path), "state": "memory:", "workers": 1}, {})
        monitors.append(InferenceMonitor(plan_of(chosen, package), copy=False))
        client = wired(Engine(package, KINDS[kind], monitors[-1]), chosen).test_client()
        answer = client.post("/predict", json={"instances": instances})
        assert answer.status_code == 200, answer.text
        session = monitors[-1].session
        session.flush()
        assert not [name for name in session.store.counters() if "unusable" in name]
        return answer.get_json()["predictions"]

    yield ask
    for monitor in monitors:
        monitor.close()


X = ROWS[:3].tolist()


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits.astype(np.float64)))


def test_a_single_sigmoid_is_two_classes(predictions_of):
    found = predictions_of("binary", X)
    for answer, p in zip(found, sigmoid(ROWS[:3] @ W[:, 0]), strict=True):
        assert answer["label"] == ("yes" if p >= 0.5 else "no")
        assert answer["confidence"] == pytest.approx(max(p, 1 - p))
        assert answer["probabilities"] == pytest.approx({"no": 1 - p, "yes": p})


def test_several_labels_are_all_that_are_at_one_half_or_more(predictions_of):
    found = predictions_of("multilabel", X)
    for answer, p in zip(found, sigmoid(ROWS[:3] @ W), strict=True):
        assert answer["labels"] == [
            name for name, each in zip("abc", p, strict=True) if each >= 0.5
        ]
        assert "label" not in answer
        assert answer["probabilities"] == pytest.approx(dict(zip("abc", p, strict=True)))


def test_one_target_is_a_value_and_several_are_values_by_name(predictions_of):
    found = predictions_of("regression", X)
    assert [each["value"] for each in found] == pytest.approx((ROWS[:3] @ W[:, 0]).tolist())
    found = predictions_of("targets", X)
    for answer, (low, high) in zip(found, (ROWS[:3] @ W[:, :2]).tolist(), strict=True):
        assert answer == {"values": pytest.approx({"low": low, "high": high})}


def test_several_inputs_are_objects_and_several_outputs_stand_under_their_names(predictions_of):
    rows = [{"x": x, "image": image} for x, image in zip(X, PIXELS[:3].tolist(), strict=True)]
    found = predictions_of("several", rows)
    assert [set(each) for each in found] == [{"kind", "price"}] * 3
    assert {"label", "confidence", "probabilities"} == set(found[0]["kind"])
    wanted = (ROWS[:3] @ W[:, 0]).tolist()
    assert [each["price"]["value"] for each in found] == pytest.approx(wanted)


def test_an_output_that_nothing_explains_is_given_as_it_is(predictions_of):
    (first, *_) = predictions_of("unexplained", X)
    assert first["raw"]["output"] == pytest.approx((ROWS[0] * 2).tolist())
    assert first["kind"]["label"] in "abc"


def test_images_of_another_size_are_answered_where_the_model_takes_them(predictions_of):
    for shape in ((3, 4, 4), (3, 9, 2)):
        (answer,) = predictions_of("any size", [np.full(shape, 0.5).tolist()])
        assert answer["confidence"] == pytest.approx(1 / 3)


def test_numbers_that_are_none_become_null(predictions_of):
    with np.errstate(over="ignore"):
        (answer,) = predictions_of("regression", [(np.sign(W[:, 0]) * 3e38).tolist()])
    assert answer["value"] is None


def test_an_embedding_is_no_prediction_and_nests_none(predictions_of):
    """A wrapper that exposes one has two outputs; what it predicts stands as if it had one."""
    found = predictions_of("embedding", X)
    assert [set(each) for each in found] == [{"label", "confidence", "probabilities"}] * 3
