"""Alerts to a webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from watched import rows, train

from driftline.train_side import alerting, desk
from driftline.train_side.alerting import Alert
from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.point import Notice, stamp
from driftline.train_side.policies import Stop, Wishes
from driftline.train_side.settings import MonitorSettings, Sampling

SETTINGS = MonitorSettings(sampling=Sampling(every=1), report=False)


class Receiver:
    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.fails = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((dict(self.headers), body))
                outer.fails -= 1
                self.send_response(503 if outer.fails >= 0 else 204)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setattr(alerting, "PAUSE", 0.01)
    running = Receiver()
    yield running
    running.server.shutdown()
    running.server.server_close()


def notice(step: int = 7) -> Notice:
    return Notice(
        time=stamp(1_700_000_000),
        step=step,
        rule="non_finite",
        severity="critical",
        sentence="The loss is not finite.",
    )


def test_an_event_is_a_signed_cloud_event(receiver: Receiver) -> None:
    alert = Alert(receiver.url, secret="shared")
    alert.apply(notice(), Wishes("digits"))
    assert alert.flush(5)
    ((headers, body),) = receiver.got
    event = json.loads(body)
    assert {event.pop("id")} == {headers["Idempotency-Key"]}
    assert event == {
        "specversion": "1.0",
        "source": "/driftline/runs/digits",
        "type": "io.driftline.training.firing",
        "subject": "training/digits",
        "time": "2023-11-14T22:13:20.000Z",
        "datacontenttype": "application/json",
        "data": {
            "run": "digits",
            "step": 7,
            "rule": "non_finite",
            "severity": "critical",
            "sentence": "The loss is not finite.",
        },
    }
    digest = hmac.new(b"shared", body, hashlib.sha256).hexdigest()
    assert headers["X-Driftline-Signature"] == f"sha256={digest}"


def test_a_failed_delivery_is_tried_again_under_its_key(receiver: Receiver) -> None:
    receiver.fails = 2
    alert = Alert(receiver.url)
    alert.apply(notice(), Wishes("digits"))
    assert alert.flush(5)
    assert len({headers["Idempotency-Key"] for headers, _ in receiver.got}) == 1
    assert len(receiver.got) == 3
    assert (alert.delivered, alert.failed) == (1, 0)


def test_a_receiver_that_never_answers_is_given_up(receiver: Receiver) -> None:
    receiver.fails = 100
    alert = Alert(receiver.url)
    alert.apply(notice(), Wishes("digits"))
    assert alert.flush(5)
    assert (alert.delivered, alert.failed) == (0, 1)


def stopped_by(alert: Alert, folder: Path) -> list[str]:
    """A loop whose second loss has no number; it is over when this returns."""
    policies = {"non_finite": (alert, Stop())}
    monitor = TrainingMonitor(folder, sinks=(), policies=policies, settings=SETTINGS)
    with monitor.loop() as loop:
        loop.step(loss=1.0)
        loop.step(loss=float("nan"))
    health = monitor.health()
    assert health is not None
    return [each.rule for each in health.events]


def test_an_alert_that_is_tried_again_arrives_before_the_training_is_over(
    receiver: Receiver, tmp_path: Path
) -> None:
    """The process may end right after: with it the thread that tries."""
    receiver.fails = 3
    alert = Alert(receiver.url)
    assert stopped_by(alert, tmp_path) == ["non_finite"]
    assert (alert.delivered, alert.failed, len(receiver.got)) == (1, 0, 4)


def test_an_alert_that_does_not_arrive_is_logged_at_the_end(
    receiver: Receiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    log: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(alerting, "PAUSE", 60.0)
    monkeypatch.setattr(desk, "LONGEST_WAIT", 0.2)
    receiver.fails = 100
    stopped_by(Alert(receiver.url), tmp_path)
    assert "an alert was not delivered when the training ended: The loss is not" in log.text


@pytest.mark.slow
def test_a_training_by_model_alerts(receiver: Receiver, tmp_path: Path, graph: None) -> None:
    x, y = rows(160)
    x[40, 3] = np.nan
    alert = Alert(receiver.url)
    trained = train(
        tmp_path / "run",
        data=ms.dataset.NumpySlicesDataset((x, y), shuffle=False).batch(16),
        epochs=1,
        policies={"non_finite": (alert,)},
        settings=MonitorSettings(sampling=Sampling(every=1, deep_every=1), report=False),
    )
    told = [json.loads(body)["data"]["rule"] for _, body in receiver.got]
    assert told == trained.rules()[: len(told)] == ["non_finite"]
    assert alert.delivered == 1
