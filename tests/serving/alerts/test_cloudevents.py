"""CloudEvents over HTTP: shape of the event, signature, and what answers mean."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from driftline.metadata.errors import SettingError
from driftline.serving.alerts.cloudevents import CloudEvents
from driftline.serving.secret import Secret


def test_event_is_structured_cloudevents_1_0(kit: Any, endpoint: Any) -> None:
    """The required attributes are there, times end in Z, and the id is the message's key."""
    message = kit.message("resolved")
    assert CloudEvents(kit.sink(endpoint.url + "/hook")).send(message).state == "delivered"
    (request,) = endpoint.received
    assert request.path == "/hook"
    assert request.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert request.headers["idempotency-key"] == message.key == request.json["id"]
    event = request.json
    assert event["specversion"] == "1.0"
    assert event["type"] == "io.driftline.drift.resolved"
    assert event["subject"] == "digits/1"
    assert event["source"] == "/driftline/models/digits"
    assert event["time"] == "2027-01-15T08:15:00Z"
    assert event["data"]["state"] == "resolved"
    assert event["data"]["until"] == "2027-01-15T08:10:00Z"
    assert event["data"]["signals"][0]["name"] == "mean"
    assert "x-driftline-signature" not in request.headers


def test_signature_is_what_openssl_says(kit: Any, endpoint: Any) -> None:
    """HMAC-SHA256 of the body as sent, hex: openssl computes it from the same two inputs."""
    sink = CloudEvents(kit.sink(endpoint.url, secret=Secret("kept between us")))
    sink.send(kit.message())
    (request,) = endpoint.received
    openssl = subprocess.run(
        ["openssl", "dgst", "-sha256", "-hmac", "kept between us", "-r"],
        input=request.body,
        capture_output=True,
        check=True,
    )
    digest = openssl.stdout.split()[0].decode()
    assert request.headers["x-driftline-signature"] == f"sha256={digest}"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (204, "delivered"),
        (302, "retry"),
        (400, "refused"),
        (401, "retry"),
        (404, "retry"),
        (410, "refused"),
        (429, "retry"),
        (500, "retry"),
        (503, "retry"),
    ],
)
def test_status_decides(kit: Any, endpoint: Any, status: int, state: str) -> None:
    """Only an answer that blames the message ends its tries; a redirect is not followed."""
    endpoint.usual = kit.Answer(status, headers={"Location": endpoint.url + "/elsewhere"})
    assert CloudEvents(kit.sink(endpoint.url)).send(kit.message()).state == state
    assert len(endpoint.received) == 1


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("-3", 0.0),
        ("nan", 0.0),
        ("soon", 0.0),
        ("99999999", 3600.0),
        ("Fri, 15 Jan 2027 08:01:30 GMT", 90.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
    ],
)
def test_retry_after(kit: Any, endpoint: Any, asked: str, seconds: float) -> None:
    """Seconds or a date; nonsense counts as nothing, and an hour is the most."""
    endpoint.usual = kit.Answer(429, headers={"Retry-After": asked})
    sink = CloudEvents(kit.sink(endpoint.url), clock=lambda: kit.now)
    assert sink.send(kit.message()).after == seconds


def test_tls_is_verified_and_has_the_same_deadlines(
    kit: Any, tls_endpoint: Any, tmp_path: Any, impatient: None, monkeypatch: Any
) -> None:
    """A receiver whose certificate nobody vouches for is not told; it may be mended."""
    sink = CloudEvents(kit.sink(tls_endpoint.url))
    outcome = sink.send(kit.message())
    assert (outcome.state, outcome.reason) == ("retry", "TLS failed")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
    assert sink.send(kit.message()).state == "delivered"
    for how, reason in [("crawl", "timed out"), ("hang", "timed out"), ("reset", "no connection")]:
        tls_endpoint.script.append(kit.Answer(how=how))
        outcome = sink.send(kit.message())
        assert (outcome.state, outcome.reason) == ("retry", reason)
    assert len(tls_endpoint.received) == 4


@pytest.mark.parametrize("url", ["", "ftp://x/", "hook", "http://", "http://[", "https:///p"])
def test_address_that_is_none(kit: Any, url: str) -> None:
    """The setting is named, and the address, which may hold a token, is not repeated."""
    settings = kit.sink(url or "x")
    with pytest.raises(SettingError) as caught:
        CloudEvents(settings)
    assert caught.value.field == "sinks.hook.url"
