"""Latency and accuracy as conditions of alerts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from driftline.drift.baseline import Usual
from driftline.drift.harm import Harm
from driftline.drift.latency import Latency
from driftline.drift.quality import Estimate
from driftline.drift.verdict import Verdict
from driftline.metadata.quality import LATENCY_EDGES
from driftline.serving.alerts import Tolerance
from driftline.serving.evaluation.performance import Performance
from driftline.serving.evaluation.standing import Service, Standing
from driftline.serving.watches.performance import conditions

NOW = 1_800_000_000
QUIET = Verdict("stable", -0.5, None, NOW - 600, NOW, 1000, 1e-4, False, (), (), "")
CALLED = replace(QUIET, state="drift", evidence_log10=9.0, onset=NOW - 120)
USUAL = Usual(
    source="service", counts=(9,) * (len(LATENCY_EDGES) + 1), host="here", since=1, until=2
)
ESTIMATE = Estimate(
    rows=900, packaged=0.95, cbpe=0.94, low=0.92, high=0.96, atc=0.94, label_shift=None,
    unreliable="",
)  # fmt: skip
HARM = Harm(
    rows=500, accuracy=0.8, packaged=0.95, low=0.76, high=0.83, tolerance=0.05, harmful=True,
    evidence_log10=7.0, needed_log10=4.6, since=NOW - 180, verdict=CALLED,
)  # fmt: skip
SLOW = Latency(usual=USUAL, seconds=0.05, rate=0.4, usual_rate=0.05, regressed=True, verdict=CALLED)


def found(**performance):
    standing = Standing(
        at=NOW, since=NOW, width=60, verdict=QUIET, service=Service(),
        performance=Performance(**performance),
    )  # fmt: skip
    return {(each.kind, each.name): each for each in conditions(standing, ("m", "1"), Tolerance())}


def test_what_cannot_be_said_is_no_condition():
    assert found() == {}


def test_a_regression_of_latency_fires_with_its_onset():
    said = found(latency=SLOW)["latency", "regression"]
    assert (said.firing, said.since, said.evidence_log10) == (True, NOW - 120, 9.0)
    assert said.sentence_en == (
        "Slower: 40 % of requests take more than 50 ms; 5 % did in this service's first stable "
        "stretch."
    )
    assert "变慢" in said.sentence_zh
    calm = found(latency=replace(SLOW, regressed=False, verdict=QUIET))["latency", "regression"]
    assert calm.firing is False


def test_harm_by_labels_fires_and_names_both_figures():
    said = found(harm=HARM)["accuracy", ""]
    assert (said.firing, said.severity, said.since) == (True, "major", NOW - 180)
    assert said.sentence_en == (
        "Accuracy fell by more than 5 % below the packaged 95 %: 80 % of 500 labelled predictions "
        "were right."
    )
    assert "准确率" in said.sentence_zh
    fine = found(harm=replace(HARM, harmful=False))["accuracy", ""]
    assert fine.firing is False
    assert fine.sentence_en.endswith("95 % when packaged.")


@pytest.mark.parametrize(
    ("changes", "firing"),
    [
        ({}, False),
        ({"cbpe": 0.85, "low": 0.83, "high": 0.87}, True),
        ({"cbpe": 0.88, "low": 0.82, "high": 0.94}, None),
        ({"cbpe": 0.6, "low": 0.5, "high": 0.7, "unreliable": "major drift of x"}, None),
    ],
)
def test_expected_accuracy_fires_where_its_whole_interval_is_too_low(changes, firing):
    said = found(estimate=replace(ESTIMATE, **changes))["accuracy", "estimated"]
    assert said.firing is firing
    assert ("Not to be relied on" in said.sentence_en) is ("unreliable" in changes)
