"""Limits that are set where the model is served go over those that the package carries."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest
import served

from driftline.metadata.errors import SettingError
from driftline.metadata.thresholds import Rule, Thresholds
from driftline.serving.alerts import AlertSettings, SinkSettings
from driftline.serving.extension import Driftline
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.limits import limited
from driftline.serving.settings import load

PACKAGED = Thresholds(
    false_alarms="1 per 7d",
    accuracy_loss=0.1,
    default=Rule(psi=0.2),
    signals={"a0": Rule(mean_change=5.0, psi=0.3)},
)
REFERENCE = served.metadata().reference

TOML = """
latency_ms = 50
[groups.input]
mean_high = 3.0
[signals.a0]
mean_change = 0.5
[signals.a1]
mean_low = -1
"""


def over(given) -> Thresholds:
    return limited(PACKAGED, given, REFERENCE)


def test_what_is_given_goes_over_what_was_packaged_field_by_field(tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(TOML)
    found = over(path)
    assert found == msgspec.structs.replace(
        PACKAGED,
        latency_ms=50.0,
        groups={"input": Rule(mean_high=3.0)},
        signals={"a0": Rule(mean_change=0.5, psi=0.3), "a1": Rule(mean_low=-1.0)},
    )
    as_json = tmp_path / "limits.json"
    as_json.write_text(json.dumps({"signals": {"a0": {"psi": None}}, "low_confidence": None}))
    found = over(str(as_json))
    assert found.signals == {"a0": Rule(mean_change=5.0)}
    assert found.low_confidence is None
    assert over(None) is PACKAGED
    assert over(Thresholds()) == Thresholds()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"signals": {"heigth": {"psi": 0.1}}}, "signals.heigth"),
        ({"groups": {"outputs": {"psi": 0.1}}}, "groups.outputs"),
        ({"low_confidense": 0.2}, "low_confidense"),
        ({"signals": {"a0": {"mean_chnge": 1}}}, "mean_chnge"),
        ({"signals": {"a0": {"psi": -1}}}, "signals.a0.psi"),
        ({"signals": {"a0": 3}}, "signals"),
        ({"signals": 3}, "signals"),
        ({"latency_ms": "quick"}, "latency_ms"),
        ({"accuracy_loss": -0.1}, "accuracy_loss"),
        ({"false_alarms": "seldom"}, "false_alarms"),
        (Thresholds(signals={"no": Rule()}), "signals.no"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given, field: str) -> None:
    with pytest.raises(SettingError) as caught:
        over(given)
    assert field in caught.value.field


@pytest.mark.parametrize(
    ("name", "text"), [("a.toml", "= 3"), ("a.json", "{"), ("b.json", "[]"), ("absent.toml", None)]
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, name: str, text: str | None) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SettingError, match=name):
        over(tmp_path / name)


def breached(session, client, path: str) -> list[str]:
    session.flush()
    session.evaluator.turn(time.time())
    return [each["column"] for each in client.get(path).get_json()["limits"]]


def test_a_served_model_is_held_to_the_limits_of_the_file(client_of, tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text("low_confidence = 0.9\n[signals.a1]\nmean_change = 0.05\n")
    client = client_of(thresholds=str(path))
    rows = served.rows(100, 1)
    rows[:, 1] += 0.5
    told = client.post("/predict", json={"instances": rows.tolist()}).get_json()
    assert any("is under 0.9" in each["message"] for each in told["warnings"])
    assert breached(client.engine.monitor.session, client, "/drift") == ["a1"]
    assert client.get("/drift").get_json()["confidence"]["limit"] == 0.9


def test_an_option_of_its_own_wins_over_the_file(client_of, tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text("low_confidence = 0.9\nlatency_ms = 7")
    client = client_of(thresholds=str(path), low_confidence="0.4")
    found = client.engine.monitor.plan.thresholds
    assert (found.low_confidence, found.latency_ms) == (0.4, 7.0)


def test_the_variable_has_the_options_name() -> None:
    found = load({"package": "p"}, {"DRIFTLINE_THRESHOLDS": "/etc/limits.toml"})
    assert found.thresholds == "/etc/limits.toml"


def test_an_unknown_signal_keeps_a_service_from_starting(client_of, tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text("[signals.heigth]\npsi = 0.1")
    with pytest.raises(SettingError, match="heigth"):
        client_of(thresholds=str(path))


# The library -------------------------------------------------------------------------------


def test_a_library_is_held_to_limits_and_tells_the_log_as_the_service_does(package, caplog) -> None:
    """Nobody was told before, although /driftline/alerts listed the alert."""
    from flask import Flask

    app = Flask("limited")
    driftline = Driftline(
        app,
        package=package,
        thresholds={"signals": {"a1": {"mean_change": 0.05}}},
        alerts=AlertSettings(group_seconds=0.0),
    )
    try:
        rows = served.rows(200, 1)
        rows[:, 1] += 3.0
        driftline.watch(lambda x: x @ served.weights())(rows)
        session = driftline.monitor.session
        assert breached(session, app.test_client(), "/driftline/drift") == ["a1"]

        def told() -> list[str]:
            return [r.getMessage() for r in caplog.records if r.name == "driftline.alerts"]

        served.until(lambda: any("a1" in each for each in told()), 20)
    finally:
        driftline.monitor.close()


def test_whom_a_library_tells_may_stand_in_a_file(package, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text('[[sinks]]\nname = "call"\nkind = "slack"\nurl_env = "SLACK_URL"\n')
    monkeypatch.setenv("SLACK_URL", "https://hooks.example/x")
    monitor = InferenceMonitor.open(package, alerts=path)
    assert [each.name for each in monitor.plan.alerts.sinks] == ["log", "call"]
    assert [each.kind for each in InferenceMonitor.open(package).plan.alerts.sinks] == ["log"]


def test_a_receiver_that_cannot_be_is_refused_before_any_request(package) -> None:
    """And not within the fence, where nobody would be told of it."""
    nowhere = AlertSettings(sinks=(SinkSettings(name="call", kind="slack"),))
    with pytest.raises(SettingError, match=r"sinks\.call\.url"):
        InferenceMonitor.open(package, alerts=nowhere)
    with pytest.raises(SettingError, match="heigth"):
        InferenceMonitor.open(package, thresholds={"signals": {"heigth": {}}})
