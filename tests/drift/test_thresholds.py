"""Settings: the nearest place wins, what is unknown or impossible is refused by name."""

from __future__ import annotations

import pytest

from driftline.drift import check_thresholds, judge, read_thresholds
from driftline.drift.thresholds import alpha_of, kept_by, rule_of
from driftline.metadata.errors import SettingError
from driftline.metadata.reference import Reference
from driftline.metadata.thresholds import Rule, Thresholds


def test_signal_goes_before_group_before_default_before_built_in(normal: Reference) -> None:
    thresholds = Thresholds(
        default=Rule(psi=0.3, rise=0.05),
        groups={"input": Rule(psi=0.2)},
        signals={"x1": Rule(inflation=4.0)},
    )
    found = {each.name: rule_of(thresholds, each) for each in normal.signals}
    assert found["x1"] == Rule(psi=0.2, rise=0.05, inflation=4.0)
    assert found["x2"] == Rule(psi=0.2, rise=0.05, inflation=1.0)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"defualt": {}}, "defualt"),
        ({"default": {"psy": 1}}, "default.psy"),
        ({"default": {"psi": "high"}}, "default.psi"),
        ({"default": {"psi": -0.1}}, "default.psi"),
        ({"default": {"inflation": 0.5}}, "default.inflation"),
        ({"default": {"mean_low": float("nan")}}, "default.mean_low"),
        ({"groups": {"inputs": {}}}, "groups.inputs"),
        ({"false_alarms": "never"}, "false_alarms"),
        ({"false_alarms": "0 per 1d"}, "false_alarms"),
        ({"latency_ms": -1}, "latency_ms"),
        ({"latency_ms": 0}, "latency_ms"),
        ({"latency_ms": float("inf")}, "latency_ms"),
        ({"low_confidence": 7}, "low_confidence"),
        ({"low_confidence": float("nan")}, "low_confidence"),
        ({"accuracy_loss": 1.5}, "accuracy_loss"),
    ],
)
def test_what_cannot_be_is_refused_by_name(settings: dict[str, object], field: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_thresholds(settings)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("low_confidence", 7, "must be from 0 to 1, got 7"),
        ("accuracy_loss", -0.1, "must be from 0 to 1, got -0.1"),
        ("latency_ms", 0, "must be a finite number above 0, got 0"),
    ],
)
def test_a_limit_that_cannot_be_is_refused_with_what_can(
    limit: str, value: float, reason: str
) -> None:
    with pytest.raises(SettingError) as refused:
        read_thresholds({limit: value})
    assert str(refused.value) == f"{limit}: {reason}"


def test_limits_at_the_ends_of_what_can_be_are_taken() -> None:
    read_thresholds({"low_confidence": 0, "accuracy_loss": 1, "latency_ms": 0.001})
    read_thresholds({"low_confidence": 1, "accuracy_loss": 0, "latency_ms": None})


def test_a_signal_that_is_not_in_the_reference_is_refused(normal: Reference, ring) -> None:
    thresholds = read_thresholds({"signals": {"x9": {"psi": 0.2}}})
    with pytest.raises(SettingError, match=r"signals\.x9"):
        check_thresholds(thresholds, normal)
    with pytest.raises(SettingError, match=r"signals\.x9"):
        judge(normal, ring(normal, []), thresholds=thresholds)


@pytest.mark.parametrize(
    ("promise", "width", "alpha"),
    [("1 per 30d", 60, 1 / 43200), ("2 per 1w", 3600, 2 / 168), ("1 per 12 h", 1, 1 / 43200)],
)
def test_the_promise_becomes_a_probability_per_bucket(
    promise: str, width: int, alpha: float
) -> None:
    assert alpha_of(Thresholds(false_alarms=promise), width) == pytest.approx(alpha)


def test_a_promise_too_generous_for_the_buckets_is_refused() -> None:
    with pytest.raises(SettingError, match="too many"):
        alpha_of(Thresholds(false_alarms="1 per 1m"), 60)


def test_longer_buckets_keep_a_promise_that_they_cannot_state_by_a_stricter_one() -> None:
    loose, usual = Thresholds(false_alarms="1 per 1h"), Thresholds()
    assert alpha_of(kept_by(loose, 3600), 3600) == pytest.approx(0.1)
    assert kept_by(loose, 60) is loose
    assert kept_by(usual, 3600) is usual
