"""Accuracy without labels: estimates agree with their definitions and with what labels show."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy import stats

from driftline.drift import Ring, judge
from driftline.drift.label_shift import LabelShift, label_shift
from driftline.drift.quality import estimate
from driftline.drift.reliability import atc, cbpe, fit_reliability
from driftline.metadata.quality import Quality, Reliability
from driftline.metadata.reference import Reference, SignalReference
from driftline.metadata.signals import Categorical, Continuous, Signal

# Cells of equal mass where the confidence is that of `held_out`.
EDGES = tuple(1 - 0.7 * stats.beta.ppf(np.arange(31, 0, -1) / 32, 1, 4))
SIGNAL = SignalReference(
    Signal("top_probability", "output", "top_probability", Continuous(EDGES)), (50.0,) * 32, 1599
)


def held_out(random: np.random.Generator, rows: int, bend: float = 1.0):
    """Confidences, and whether the predictions were right: with probability confidence^bend."""
    confidence = 1 - random.beta(1, 4, rows) * 0.7
    return confidence, random.random(rows) < confidence**bend


def shifted(random: np.random.Generator, rows: int, bend: float = 1.0):
    """The same model on harder inputs."""
    confidence = 1 - random.beta(2, 3, rows) * 0.7
    return confidence, random.random(rows) < confidence**bend


def cells(confidence: np.ndarray) -> np.ndarray:
    return np.bincount(SIGNAL.signal.partition.cells(confidence), minlength=32).astype(float)


def known(seed: int, rows: int = 2_000, bend: float = 1.0) -> Reliability:
    found = fit_reliability(SIGNAL, *held_out(np.random.default_rng(seed), rows, bend))
    assert found is not None
    return found


def test_reliability_counts_what_is_there() -> None:
    confidence = np.array([0.3, 0.31, 0.995, 0.996, 0.997, np.nan])
    right = np.array([False, True, True, True, False, True])
    found = fit_reliability(SIGNAL, confidence, right)
    assert found is not None
    assert (found.rows[0], found.right[0], sum(found.rows)) == (2, 1, 5)
    assert (found.rows[31], found.right[31]) == (3, 2)
    assert found.confidence[0] == pytest.approx(0.305)
    assert found.confidence[5] is None
    assert (confidence > found.threshold).sum() == 3
    assert fit_reliability(SIGNAL, np.array([np.nan]), np.array([True])) is None


def test_on_its_own_rows_both_estimates_are_the_accuracy() -> None:
    random = np.random.default_rng(1)
    confidence, right = held_out(random, 5_000, bend=2.0)
    found = fit_reliability(SIGNAL, confidence, right)
    assert found is not None
    assert atc(found, cells(confidence)) == pytest.approx(right.mean(), abs=1e-12)
    middle, low, high = cbpe(found, cells(confidence), float(confidence.mean()))
    assert middle == pytest.approx(right.mean(), abs=0.003)
    assert low < right.mean() < high


def test_atc_is_that_of_garg_but_for_the_cell_of_its_threshold() -> None:
    """The published recipe on raw confidences: fit a threshold, take the share above it."""
    random = np.random.default_rng(2)
    confidence, right = held_out(random, 4_000, bend=1.5)
    found = fit_reliability(SIGNAL, confidence, right)
    assert found is not None
    threshold = np.quantile(confidence, 1 - right.mean())
    assert found.threshold == pytest.approx(threshold, abs=2e-3)
    new, _ = shifted(random, 4_000)
    assert atc(found, cells(new)) == pytest.approx((new > threshold).mean(), abs=0.01)


@pytest.mark.parametrize("bend", [1.0, 1.6])
@pytest.mark.parametrize("traffic", [held_out, shifted])
def test_nineteen_of_twenty_intervals_hold_the_accuracy_that_labels_show(bend, traffic) -> None:
    """1,000 packages with 2,000 held-out rows, 500 predictions each; confidence off by a bend."""
    random = np.random.default_rng(int(bend * 10))
    inside, errors = [], []
    for seed in range(1_000):
        confidence, right = traffic(random, 500, bend)
        middle, low, high = cbpe(known(seed, bend=bend), cells(confidence), confidence.mean())
        inside.append(low <= right.mean() <= high)
        errors.append(middle - right.mean())
    assert np.mean(inside) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 1_000)
    assert np.mean(inside) < 0.99
    assert abs(np.mean(errors)) < 0.005


def test_the_mean_within_cells_is_used_where_it_is_known() -> None:
    """All rows at the lower end of one wide cell: only the mean can tell."""
    wide = SignalReference(
        Signal("top_probability", "output", "top_probability", Continuous((0.4,))), (9.0, 9.0), 17
    )
    random = np.random.default_rng(4)
    confidence = random.uniform(0.4, 1.0, 50_000)
    found = fit_reliability(wide, confidence, random.random(50_000) < confidence)
    assert found is not None
    counts = np.array([0.0, 1_000.0])
    assert cbpe(found, counts)[0] == pytest.approx(0.7, abs=0.01)
    assert cbpe(found, counts, 0.45)[0] == pytest.approx(0.45, abs=0.01)


def confusion(random: np.random.Generator, share: np.ndarray, rows: int) -> np.ndarray:
    """[true][predicted] counts of a model that is right three times in four."""
    classes = len(share)
    table = np.full((classes, classes), 0.25 / (classes - 1))
    np.fill_diagonal(table, 0.75)
    return np.stack(
        [random.multinomial(round(rows * p), row) for p, row in zip(share, table, strict=True)]
    )


def test_weights_are_those_of_lipton_where_these_exist() -> None:
    """An independent solution of q = C w by NumPy, at counts that leave no doubt."""
    random = np.random.default_rng(5)
    table = confusion(random, np.array([0.5, 0.3, 0.2]), 10_000)
    weights = np.array([0.4, 1.2, 2.2])
    joint = table.T / table.sum()
    counts = np.round(joint @ weights * 1e9)
    found = label_shift(table.tolist(), (0.0, 1.0, 2.0), np.append(counts, 0))
    truth = np.linalg.solve(joint, counts / counts.sum())
    assert found is not None
    before = table.sum(axis=1) / table.sum()
    assert np.array(found.before) == pytest.approx(before)
    assert np.array(found.weights) == pytest.approx(truth / (truth @ before), rel=1e-5)
    assert sum(found.now) == pytest.approx(1)


def test_a_shift_of_labels_is_estimated_from_predictions() -> None:
    """200 windows of 2,000 predictions: unbiased, and near the truth each time."""
    random = np.random.default_rng(6)
    before, now = np.array([0.25] * 4), np.array([0.55, 0.25, 0.15, 0.05])
    model = confusion(random, np.ones(4), 10**6) / 10**6
    found = []
    for _ in range(200):
        table = confusion(random, before, 5_000)
        counts = random.multinomial(2_000, now @ model)
        shift = label_shift(table.tolist(), (0.0, 1.0, 2.0, 3.0), np.append(counts, 0.0))
        assert shift is not None
        found.append(shift.now)
        assert shift.accuracy == pytest.approx(0.75, abs=0.04)
    assert np.mean(found, axis=0) == pytest.approx(now, abs=0.01)
    assert np.abs(np.array(found) - now).max() < 0.08


def test_confusions_that_have_no_inverse_do_no_harm() -> None:
    """A model that always predicts one class says nothing about labels: none has changed."""
    table = [[60, 0], [40, 0]]
    found = label_shift(table, (0.0,), np.array([1_000.0, 0.0]))
    assert found is not None
    assert found.now == pytest.approx((0.6, 0.4))
    assert label_shift([[0, 0], [0, 0]], (), np.array([3.0])) is None
    assert label_shift(table, (0.0,), np.zeros(2)) is None


def test_classes_that_share_the_last_cell_keep_their_proportions() -> None:
    random = np.random.default_rng(7)
    table = confusion(random, np.array([0.6, 0.3, 0.06, 0.04]), 10_000)
    joint = table.T / table.sum()
    q = joint.sum(axis=1) * 5_000
    found = label_shift(table.tolist(), (0.0, 1.0), np.array([q[0], q[1], q[2] + q[3]]))
    assert found is not None
    assert np.array(found.now) == pytest.approx(np.array(found.before), abs=1e-6)


def test_a_label_of_no_weight_is_none_and_never_below(fit) -> None:
    """Predictions of a class so rare that the plain inverse would give it a negative share."""
    table = [[80, 20], [20, 80]]
    found = label_shift(table, (0.0, 1.0), np.array([990.0, 10.0, 0.0]))
    assert found is not None
    assert found.now == pytest.approx((1.0, 0.0))
    assert found.accuracy == pytest.approx(0.8)


@pytest.fixture(scope="module")
def model(fit) -> tuple[Reference, Quality]:
    """A reference of an input and a three-class output, and what was measured beside it."""
    random = np.random.default_rng(8)
    rows = np.column_stack([random.normal(size=3_000), random.integers(0, 3, 3_000)])
    reference = fit(
        np.column_stack([rows, held_out(random, 3_000)[0]]), ["number", "category", "number"]
    )
    renamed = {"x1": "predicted_class", "x2": "top_probability"}

    def named(each):
        signal = each.signal
        base, _, rest = signal.name.partition(":")
        if base not in renamed:
            return each
        name = renamed[base] + (":" + rest if rest else "")
        signal = msgspec.structs.replace(signal, name=name, group="output", column=renamed[base])
        return msgspec.structs.replace(each, signal=signal)

    columns = tuple(
        msgspec.structs.replace(each, name=renamed[each.name], group="output")
        if each.name in renamed
        else each
        for each in reference.columns
    )
    reference = Reference("held_out", 0, columns, tuple(map(named, reference.signals)))
    each = next(one for one in reference.signals if one.name == "top_probability")
    confidence, right = held_out(random, 3_000)
    table = confusion(random, np.full(3, 1 / 3), 3_000)
    quality = Quality(
        rows=3_000,
        accuracy=float(right.mean()),
        confusion=tuple(map(tuple, table.tolist())),
        reliability=fit_reliability(each, confidence, right),
    )
    return reference, quality


def window(reference: Reference, seed: int, shift: float = 0.0, rows: int = 1_000) -> Ring:
    random = np.random.default_rng(seed)
    layout, buckets = reference.layout, {}
    for minute in range(5):
        inputs = random.normal(shift, 1.0, size=(rows // 5, 1))
        outputs = np.column_stack(
            [
                random.integers(0, 3, rows // 5),
                (shifted if shift else held_out)(random, rows // 5)[0],
            ]
        )
        buckets[1_700_000_040 + 60 * minute] = layout.count("input", inputs) + layout.count(
            "output", outputs
        )
    return Ring.of(60, buckets)


def test_an_estimate_is_made_of_counts_and_says_when_not_to_trust_it(model) -> None:
    reference, quality = model
    ring = window(reference, 1)
    found = estimate(quality, reference, ring.cells.sum(axis=0), verdict=judge(reference, ring))
    assert found is not None
    assert found.unreliable == ""
    assert found.rows == 1_000
    assert found.low < quality.accuracy < found.high
    assert found.cbpe == pytest.approx(found.atc, abs=0.03)
    assert isinstance(found.label_shift, LabelShift)
    assert found.label_shift.now == pytest.approx((1 / 3, 1 / 3, 1 / 3), abs=0.1)
    drifted = window(reference, 2, shift=1.5)
    found = estimate(
        quality, reference, drifted.cells.sum(axis=0), verdict=judge(reference, drifted)
    )
    assert found is not None
    assert found.unreliable == "major drift of x0"
    assert found.cbpe < quality.accuracy - 0.05


def test_without_what_it_takes_there_is_no_estimate(model) -> None:
    reference, quality = model
    counts = window(reference, 3).cells.sum(axis=0)
    assert estimate(None, reference, counts) is None
    assert estimate(Quality(rows=5, mae=1.0, rmse=1.0), reference, counts) is None
    assert estimate(quality, reference, counts * 0) is None
    stand_in = msgspec.structs.replace(reference, source="training_batches")
    found = estimate(quality, stand_in, counts)
    assert found is not None
    assert "optimistic" in found.unreliable


def test_a_signal_of_categories_has_no_confidence() -> None:
    codes = SignalReference(
        Signal("c", "output", "c", Categorical((0.0, 1.0))), (5.5, 5.5, 0.5), 10
    )
    found = fit_reliability(codes, np.array([0.0, 1.0, 7.0]), np.array([True, False, True]))
    assert found is not None
    assert found.rows == (1, 1, 1)
