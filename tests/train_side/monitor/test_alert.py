"""Alerts to a webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from driftline.train_side import alerting
from driftline.train_side.alerting import Alert
from driftline.train_side.point import Notice, stamp
from driftline.train_side.policies import Wishes


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
