"""Accuracy with labels: harm is called when it is there, and not more often than promised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from driftline.drift.block import block_of
from driftline.drift.evidence import Evidence, log_evidence
from driftline.drift.harm import harm, jeffreys, weights_of
from driftline.drift.rate import RISES
from driftline.drift.single import single_reference
from driftline.metadata.quality import Quality, UsualError
from driftline.metadata.thresholds import Thresholds

START = 1_700_000_040
LOOKS = np.unique(np.geomspace(1, 5_000, 60).astype(int))


def quality(right: int, rows: int) -> Quality:
    return Quality(rows=rows, accuracy=right / rows)


def log_e(packaged: Quality, tolerance: float, right, wrong):
    """ln of the e-value of labels, elementwise, under the reference that `harm` judges by."""
    law = weights_of(packaged, tolerance)
    assert law is not None
    each = single_reference("wrong", "output", law).signals[0]
    return log_evidence(each, np.stack([right, wrong], axis=-1))


@pytest.mark.parametrize(("right", "wrong"), [(3, 0), (40, 10), (700, 90), (10, 400)])
def test_the_e_value_is_the_quotient_of_scipys_laws(right: int, wrong: int) -> None:
    packaged, m = quality(450, 500), right + wrong
    good, bad = weights_of(packaged, 0.02)  # type: ignore[misc]
    assert bad / (good + bad) == pytest.approx(50.5 / 501 + 0.02)
    rate = bad / (good + bad)
    worse = expit(np.log(rate / (1 - rate)) + np.array(RISES))
    mixed = stats.binom.pmf(wrong, m, worse).mean()
    null = stats.betabinom.pmf(wrong, m, bad, good)
    found = log_e(packaged, 0.02, float(right), float(wrong))
    assert float(found) == pytest.approx(np.log(mixed / null), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("rows", "tolerance"), [(200, 0.0), (200, 0.05), (2_000, 0.02)])
def test_without_harm_no_more_false_alarms_than_promised(rows: int, tolerance: float) -> None:
    """2,000 models and streams, each exactly as bad as is tolerated below what the model truly was
    when `rows` rows were packaged; looked at 60 times within 5,000 labels."""
    random = np.random.default_rng(rows)
    streams = 2_000
    accuracy = random.uniform(0.6 + tolerance, 0.99, streams)
    packaged = random.binomial(rows, accuracy)
    weights = [weights_of(quality(int(good), rows), tolerance) for good in packaged]
    truth = accuracy - tolerance
    signals = [single_reference("wrong", "output", law).signals[0] for law in weights]
    evidence = Evidence(
        block_of("flag", signals, 2 * np.arange(streams + 1), 2 * streams, range(streams))
    )
    highest = np.full(streams, -np.inf)
    right, before = np.zeros(streams), 0
    for look in LOOKS:
        right += random.binomial(look - before, truth)
        before = look
        counts = np.stack([right, look - right], axis=1)[:, None, :]
        found = evidence(counts, np.ones(streams))[:, 0]
        highest = np.maximum(highest, found)
    alone = log_e(quality(int(packaged[7]), rows), tolerance, right[7], look - right[7])
    assert float(alone) == pytest.approx(found[7])
    for alpha in (0.1, 0.05, 0.01):
        share = (highest >= -np.log(alpha)).mean()
        assert share <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / streams), alpha


def test_being_better_is_no_evidence_and_order_does_not_matter() -> None:
    packaged = quality(900, 1_000)
    found = log_e(
        packaged,
        0.05,
        np.array([1_000.0, 950.0, 850.0, 700.0]),
        np.array([0.0, 50.0, 150.0, 300.0]),
    )
    assert (np.diff(found) > 0).all()
    assert found[0] < 0 < found[3]


def labels(random: np.random.Generator, accuracy: list[float], each: int = 40):
    wrong = random.binomial(each, 1 - np.array(accuracy))
    return {START + 60 * at: (each - int(bad), int(bad)) for at, bad in enumerate(wrong)}


def test_a_fall_is_called_with_its_bucket() -> None:
    """0.93 packaged, 0.75 from the thirtieth minute on; within 10 minutes of 40 labels."""
    packaged = quality(1_860, 2_000)
    before = None
    for minutes in range(1, 60):
        buckets = labels(
            np.random.default_rng(3), [0.93] * min(minutes, 30) + [0.75] * max(minutes - 30, 0)
        )
        before = harm(packaged, buckets, width=60, previous=before)
        assert before is not None
        assert not (before.harmful and minutes <= 30)
        if before.harmful:
            break
    assert before is not None
    assert before.harmful
    assert minutes <= 42
    assert before.since is not None
    assert abs(before.since - (START + 30 * 60)) <= 180
    assert before.evidence_log10 >= before.needed_log10 == pytest.approx(np.log10(43_200))


def test_a_small_fall_within_the_tolerance_is_no_harm() -> None:
    buckets = labels(np.random.default_rng(4), [0.90] * 60, each=200)
    packaged = quality(18_600, 20_000)
    found = harm(packaged, buckets, width=60)
    assert found is not None
    assert not found.harmful
    strict = harm(packaged, buckets, width=60, thresholds=Thresholds(accuracy_loss=0.0))
    assert strict is not None
    assert strict.harmful
    assert strict.accuracy == pytest.approx(0.9, abs=0.01)


def test_the_promise_can_be_changed_and_no_labels_are_no_verdict() -> None:
    found = harm(quality(9, 10), {}, width=60, thresholds=Thresholds(false_alarms="1 per 1d"))
    assert found is not None
    assert (found.rows, found.accuracy, found.harmful) == (0, None, False)
    assert found.needed_log10 == pytest.approx(np.log10(1_440))
    assert harm(Quality(rows=5, mae=1.0), {}, width=60) is None
    assert harm(Quality(rows=5), {START: (1, 9)}, width=60) is None
    with pytest.raises(ValueError, match="at least 0"):
        harm(quality(9, 10), {START: (-1, 2)}, width=60)
    assert weights_of(Quality(rows=5), 0.0) is None


def test_a_regressions_usual_error_is_a_bounded_loss() -> None:
    """Errors that doubled are beyond the usual one far more often than one time in ten."""
    random = np.random.default_rng(5)
    errors = np.sort(np.abs(random.normal(size=999)))
    usual = UsualError(limit=float(errors[899]), within=900, rows=999)
    packaged = Quality(rows=999, mae=1.0, rmse=1.0, usual_error=usual)
    assert weights_of(packaged, 0.0) == (900.0, 100.0)
    for scale, harmful in ((1.0, False), (2.0, True)):
        new = np.abs(random.normal(size=(30, 50))) * scale
        within = (new <= usual.limit).sum(axis=1)
        buckets = {START + 60 * at: (int(n), 50 - int(n)) for at, n in enumerate(within)}
        found = harm(packaged, buckets, width=60)
        assert found is not None
        assert found.harmful is harmful


def test_of_a_multi_label_model_whole_rows_count() -> None:
    """Accuracy there is of decisions, and would make every row with one wrong class harm."""
    found = weights_of(Quality(rows=500, accuracy=0.98, exact_right=400, exact_rows=500), 0.0)
    assert found == (400.5, 100.5)


def test_jeffreys_interval_is_scipys() -> None:
    low, high = jeffreys(30, 10)
    law = stats.beta(30.5, 10.5)
    assert (low, high) == pytest.approx((law.ppf(0.025), law.ppf(0.975)))
    assert jeffreys(0, 5)[0] == 0.0
    assert jeffreys(5, 0)[1] == 1.0


def test_a_promise_too_loose_for_the_buckets_of_labels_is_kept_by_a_stricter_one() -> None:
    loose = Thresholds(false_alarms="1 per 1h")
    packaged = quality(450, 500)
    found = harm(packaged, {START: (90, 10)}, width=3600, thresholds=loose)
    assert found is not None
    assert (found.harmful, found.needed_log10) == (False, pytest.approx(1.0))
    found = harm(packaged, {START: (20, 80)}, width=3600, thresholds=loose)
    assert found is not None
    assert found.harmful
