"""Gauges of a verdict that say nothing where nothing is to be relied on."""

from __future__ import annotations

from driftline.drift.quality import Estimate
from driftline.drift.verdict import Verdict
from driftline.serving.evaluation.performance import Performance
from driftline.serving.evaluation.standing import Service, Standing
from driftline.serving.metrics.verdicts import families


def told(unreliable: str = "", usual: float | None = None) -> dict[str, float]:
    estimate = Estimate(
        rows=100, packaged=0.9, cbpe=0.6, low=0.5, high=0.7, atc=0.6,
        label_shift=None, unreliable=unreliable,
    )  # fmt: skip
    verdict = Verdict("stable", 0.0, None, 0, 60, 100, 1e-4, True, (), (), "")
    standing = Standing(
        at=60, since=60, width=60, verdict=verdict,
        service=Service(usual_low_confidence=usual), performance=Performance(estimate=estimate),
    )  # fmt: skip
    return {
        sample.name: sample.value
        for family in families({("m", "1"): standing})
        for sample in family.samples
    }


def test_the_end_of_an_estimate_is_told_only_where_it_can_be_relied_on() -> None:
    assert told()["driftline_estimated_accuracy_high"] == 0.7
    doubtful = told("major drift of a0")
    assert "driftline_estimated_accuracy_high" not in doubtful
    assert doubtful["driftline_estimated_accuracy"] == 0.6


def test_what_was_usual_is_told_where_it_is_known() -> None:
    assert told(usual=0.08)["driftline_usual_low_confidence_ratio"] == 0.08
    assert "driftline_usual_low_confidence_ratio" not in told()
