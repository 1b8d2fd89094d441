"""Numbers of `Classification` against SciPy, head by head."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import Classification

NAMES = ("cat", "dog", "cow")
SCORES = np.random.default_rng(0).normal(scale=3, size=(300, 3))


def names(extractor: Classification) -> list[str]:
    return [column.name for column in extractor.columns()]


def test_logits_become_what_scipy_makes_of_them():
    extractor = Classification(NAMES, temperature=1.5, threshold=0.6)
    p = special.softmax(SCORES / 1.5, axis=1)
    order = np.sort(p, axis=1)
    expected = {
        "predicted_class": SCORES.argmax(axis=1),
        "top_probability": order[:, -1],
        "margin": order[:, -1] - order[:, -2],
        "entropy": stats.entropy(p, axis=1),
        "low_confidence": order[:, -1] < 0.6,
        "p_cat": p[:, 0],
        "p_dog": p[:, 1],
        "p_cow": p[:, 2],
    }
    assert names(extractor) == list(expected)
    out = extractor.extract(SCORES)
    np.testing.assert_allclose(out, np.stack(list(expected.values()), axis=1), atol=1e-13)
    np.testing.assert_allclose(extractor.probabilities(SCORES), p, rtol=1e-12)


def test_all_heads_agree_on_the_same_belief():
    """A softmax of two classes is a sigmoid of the difference of their logits."""
    logits = np.random.default_rng(1).normal(scale=2, size=(100, 2))
    shares = special.softmax(logits, axis=1)
    difference = logits[:, 1] - logits[:, 0]
    two = ("no", "yes")
    for temperature in (1.0, 0.7, 3.0):
        expected = Classification(two, temperature=temperature).probabilities(logits)
        for head, scores in (
            ("probabilities", shares),
            ("sigmoid", difference),
            ("sigmoid", difference[:, None]),
            ("sigmoid_probability", shares[:, 1]),
        ):
            found = Classification(two, head=head, temperature=temperature)
            np.testing.assert_allclose(found.probabilities(scores), expected, rtol=1e-9)


def test_a_sigmoid_shows_the_second_class_alone():
    extractor = Classification(("no", "yes"), head="sigmoid")
    assert names(extractor)[-1] == "p_yes"
    assert "p_no" not in names(extractor)
    assert extractor.extract(np.array([2.0]))[0, 0] == 1.0
    assert extractor.extract(np.array([-2.0]))[0, 0] == 0.0


def test_labels_of_a_multilabel_head_are_judged_one_by_one():
    extractor = Classification(NAMES, head="multilabel")
    p = special.expit(SCORES)
    out = dict(zip(names(extractor), extractor.extract(SCORES).T, strict=True))
    np.testing.assert_array_equal(out["labels"], (SCORES >= 0).sum(axis=1))
    np.testing.assert_allclose(out["margin"], np.abs(2 * p - 1).min(axis=1), rtol=1e-12)
    np.testing.assert_allclose(out["top_probability"], p.max(axis=1), rtol=1e-12)
    expected = [np.mean([stats.entropy([q, 1 - q]) for q in row]) for row in p]
    np.testing.assert_allclose(out["entropy"], expected, rtol=1e-9)


def test_half_precision_probabilities_are_scaled_to_one():
    p = special.softmax(SCORES, axis=1)
    found = Classification(NAMES, head="probabilities").probabilities(p.astype(np.float16))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found, p, atol=2e-3)


@pytest.mark.parametrize(
    "row", [[0.5, 0.6, 0.7], [1.5, -0.5, 0.0], [0.0, 0.0, 0.0], [np.nan, 0.5, 0.5], [np.inf, 0, 0]]
)
def test_what_is_no_distribution_is_missing(row: list[float]):
    out = Classification(NAMES, head="probabilities").extract(np.array([row, [0.2, 0.3, 0.5]]))
    assert np.isnan(out[0]).all()
    assert np.isfinite(out[1]).all()


def test_logits_declared_as_probabilities_are_found_out_when_fitting():
    with pytest.raises(InputError, match="if these are logits"):
        Classification(NAMES, head="probabilities").fit(SCORES * 10 + 50)


def test_ties_go_to_the_first_class():
    assert Classification(NAMES).extract(np.zeros((1, 3)))[0, :3].tolist() == [0.0, 1 / 3, 0.0]


def test_beyond_twenty_classes_the_most_probable_are_shown():
    many = tuple(f"c{i}" for i in range(30))
    extractor = Classification(many)
    assert len(names(extractor)) == 5
    scores = np.random.default_rng(2).normal(size=(500, 30))
    scores[:, 7:] += 2
    fitted = extractor.fit(scores)
    assert fitted.shown is not None
    assert len(fitted.shown) == 20
    assert not set(fitted.shown) & set(many[:7])
    p = special.softmax(scores, axis=1)
    columns = [many.index(name) for name in fitted.shown]
    np.testing.assert_allclose(fitted.extract(scores)[:, 5:], p[:, columns], rtol=1e-12)
    assert Classification(many, shown=()).fit(scores).shown == ()


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("head", {"head": "softmax"}),
        ("classes", {"classes": ("a",)}),
        ("classes", {"classes": ("a", "a")}),
        ("classes", {"head": "sigmoid"}),
        ("temperature", {"temperature": 0.0}),
        ("temperature", {"temperature": float("nan")}),
        ("threshold", {"threshold": 1.5}),
        ("shown", {"shown": ("horse",)}),
    ],
)
def test_impossible_settings_are_named(field: str, settings: dict):
    with pytest.raises(SettingError) as caught:
        Classification(**({"classes": NAMES} | settings))
    assert caught.value.field == field
