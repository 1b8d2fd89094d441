"""The Alertmanager sink, against a real Alertmanager that amtool and a receiver read back.

The two programs come from Debian's package ``prometheus-alertmanager``.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from driftline.serving.alerts import Alerts, AlertSettings, SinkSettings
from driftline.serving.alerts.alertmanager import Alertmanager
from driftline.serving.secret import Secret
from driftline.serving.stores.memory import MemoryStore

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
AMTOOL = shutil.which("amtool")

CONFIGURATION = """
route: {{receiver: hook, group_by: ['...'], group_wait: 0s, group_interval: 1s}}
receivers:
- name: hook
  webhook_configs: [{{url: '{url}', send_resolved: true}}]
"""


def test_labels_stay_the_same_while_the_alert_gets_worse(kit: Any, endpoint: Any) -> None:
    """They are the alert's identity over there; what changes stands in the annotations."""
    sink = Alertmanager(kit.sink(endpoint.url), clock=lambda: kit.now)
    for message in (kit.message(), kit.message("resolved")):
        minor = msgspec.structs.replace(message, severity="minor")
        assert sink.send(minor).state == "delivered"
    firing, resolved = (each.json[0] for each in endpoint.received)
    assert endpoint.received[0].path == "/api/v2/alerts"
    assert firing["labels"] == resolved["labels"]
    assert firing["labels"] == {
        "alertname": "DriftlineDrift",
        "model": "digits",
        "version": "1",
        "severity": "info",
    }
    assert firing["startsAt"] == "2027-01-15T07:58:00Z"
    assert firing["endsAt"] == "2027-01-15T08:04:00Z"  # four repetitions ahead
    assert resolved["endsAt"] == "2027-01-15T08:10:00Z"
    assert firing["generatorURL"] == "https://drift.example/"
    assert firing["annotations"]["summary"] == "[major] Drift: digits/1"


def test_an_alert_that_grew_worse_takes_the_place_of_the_lesser_one(
    kit: Any, endpoint: Any
) -> None:
    """Else routes by severity would never hear of it: over there labels are who an alert is."""
    sink = Alertmanager(kit.sink(endpoint.url), clock=lambda: kit.now)
    worse = msgspec.structs.replace(kit.message(), before="moderate")
    sink.send(worse)
    lesser, now = endpoint.received[0].json
    assert (lesser["labels"]["severity"], now["labels"]["severity"]) == ("warning", "critical")
    assert lesser["labels"] | {"severity": "critical"} == now["labels"]
    assert lesser["endsAt"] == "2027-01-15T08:00:05Z"
    assert now["endsAt"] == "2027-01-15T08:04:00Z"


def test_the_path_may_be_in_the_address(kit: Any, endpoint: Any) -> None:
    for path in ("", "/", "/api/v2/alerts", "/api/v2/alerts/"):
        Alertmanager(kit.sink(endpoint.url + path)).send(kit.message())
    assert {each.path for each in endpoint.received} == {"/api/v2/alerts"}


@pytest.fixture
def alertmanager(kit: Any, endpoint: Any, tmp_path: Path) -> Iterator[str]:
    """A real Alertmanager on a free port, which notifies `endpoint`."""
    if PROGRAM is None or AMTOOL is None:
        pytest.fail("prometheus-alertmanager and amtool are not installed; .ci/run installs them")
    (tmp_path / "alertmanager.yml").write_text(CONFIGURATION.format(url=endpoint.url))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [
        f"--config.file={tmp_path / 'alertmanager.yml'}",
        f"--storage.path={tmp_path / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    url = f"http://127.0.0.1:{port}"
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([PROGRAM, *options], stdout=log, stderr=log)
    try:
        kit.wait(lambda: _is_ready(url, process), seconds=30)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _is_ready(url: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "alertmanager ended"
    try:
        with urllib.request.urlopen(url + "/-/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _listed(url: str) -> list[dict[str, Any]]:
    command = [str(AMTOOL), "alert", "query", f"--alertmanager.url={url}", "-o", "json"]
    found = subprocess.run(command, capture_output=True, check=True)
    alerts: list[dict[str, Any]] = msgspec.json.decode(found.stdout)
    return alerts


def test_a_real_alertmanager_lists_our_alert_and_its_end(
    kit: Any, endpoint: Any, alertmanager: str
) -> None:
    """From conditions to amtool: the alert is listed once however often it is repeated, with what
    we said of it; after its end it is listed no more, and the receiver has been told of both."""
    sink = SinkSettings(name="am", kind="alertmanager", url=Secret(alertmanager))
    settings = AlertSettings(
        sinks=(sink,), quiet_seconds=0.5, group_seconds=0, link_base="http://drift.example"
    )
    alerts = Alerts.open(MemoryStore(), settings)
    started = time.time()

    def condition(firing: bool) -> Any:
        signals = tuple(kit.signal(f"s{i}") for i in range(50))
        return kit.condition(firing, since=started - 600, signals=signals, model='di"gits/漂')

    def step(firing: bool, ahead: float = 0.0) -> None:
        alerts.observe([condition(firing)], time.time(), None)
        assert alerts.deliver(time.time() + ahead, None, wait=20)

    step(True)
    step(True, ahead=61)  # a repetition is due by then
    kit.wait(lambda: len(_listed(alertmanager)) == 1)
    (alert,) = _listed(alertmanager)
    assert alert["status"]["state"] == "active"
    assert alert["labels"]["alertname"] == "DriftlineDrift"
    assert alert["labels"]["model"] == 'di"gits/漂'
    assert alert["labels"]["severity"] == "critical"
    assert alert["annotations"]["summary"] == '[major] Drift: di"gits/漂/1'
    assert alert["annotations"]["signals"].endswith("and 40 more")
    assert alert["generatorURL"] == "http://drift.example/"
    assert abs(_seconds(alert["startsAt"]) - (started - 600)) < 1
    kit.wait(lambda: len(endpoint.received) >= 1)

    def ended() -> bool:
        step(False)
        return not alerts.open_alerts()

    kit.wait(ended)
    kit.wait(lambda: _listed(alertmanager) == [])
    kit.wait(lambda: any(each.json["status"] == "resolved" for each in endpoint.received))
    statuses = [each.json["status"] for each in endpoint.received]
    assert statuses == ["firing", "resolved"]
    (told,) = endpoint.received[-1].json["alerts"]
    (past,) = alerts.past()
    assert past.until is not None
    assert told["status"] == "resolved"
    assert abs(_seconds(told["endsAt"]) - past.until.timestamp()) < 0.01


def _seconds(text: str) -> float:
    return msgspec.convert(text, datetime).timestamp()
