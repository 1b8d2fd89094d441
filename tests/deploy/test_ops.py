"""Real programs: Prometheus evaluates the deployed rules, Alertmanager lists alerts and ends."""

from __future__ import annotations

import pytest

from examples.ops import demo
from examples.ops.package import write
from examples.ops.programs import fetched
from examples.ops.stack import Stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory, needed):
    for name in ("prometheus", "amtool"):
        needed(name)
    needed("prometheus-alertmanager", "alertmanager")
    folder = tmp_path_factory.mktemp("ops")
    with Stack(folder, write(folder / "package")) as running:
        yield running


@pytest.mark.slow
def test_a_planted_fault_fires_through_prometheus_and_ends(stack):
    """Drift and vanishing gradients: quiet before, told by both senders, and over afterwards."""
    demo.quiet(stack)
    demo.wrong(stack)
    demo.told(stack)
    drift = stack.listed()["told by driftline: DriftlineDrift"]
    assert drift["labels"]["model"] == "wine"
    assert "alcohol" in drift["annotations"]["signals"]
    # One of the two that speak of the same matter keeps still.
    assert stack.listed()["DriftlineModelDrift"]["status"]["state"] == "suppressed"
    assert len(drifts(stack)) == 1
    demo.well(stack)
    types = [event["type"] for event in drifts(stack)]
    assert types == ["io.driftline.drift.firing", "io.driftline.drift.resolved"]
    told = fetched(stack.prometheus.url + "/api/v1/rules")
    rules = [rule for group in told["data"]["groups"] for rule in group["rules"]]
    assert len(rules) == 21
    assert {rule["health"] for rule in rules} == {"ok"}


def drifts(stack: Stack) -> list[dict]:
    return [each for each in stack.receiver.at("/events") if ".drift." in each["type"]]
