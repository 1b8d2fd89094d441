"""`/alerts`: one list of all books, and a word that somebody takes an alert on."""

from __future__ import annotations

import time

import pytest
import served

from driftline.serving.board import CLOSING, BoardSettings, create_board


def event(run_client, run: str = "digits") -> None:
    body = {
        "sequence": 1,
        "events": [
            {
                "step": 3,
                "time": time.time(),
                "rule": "gradient_explosion",
                "severity": "critical",
                "sentence": "The gradient norm is 1e+09.",
            }
        ],
    }
    assert run_client.post(f"/runs/{run}/points", json=body).status_code == 200


def opened(client) -> list[dict]:
    return client.get("/alerts").get_json()["open"]


@pytest.fixture
def firing(client_of):
    """A client of a service in which one training alert fires."""
    client = client_of(alert_group="0s", alert_quiet="1s")
    event(client)
    served.until(lambda: opened(client), 20)
    return client


def test_nothing_fires_at_first(client):
    told = client.get("/alerts").get_json()
    assert (told["open"], told["past"], told["dead_letters"]) == ([], [], [])
    assert [(each["book"], each["name"]) for each in told["sinks"]] == [
        ("toy", "log"),
        ("/trainings", "log"),
    ]


def test_a_training_event_is_an_alert_of_the_service(firing):
    (alert,) = opened(firing)
    assert (alert["kind"], alert["version"], alert["name"]) == (
        "training",
        "digits",
        "gradient_explosion",
    )
    assert alert["state"] == "firing"
    assert alert["severity"] == "major"
    assert alert["since"].endswith("Z")
    assert alert["acknowledged"] is None


def test_somebody_takes_it_on_and_the_first_word_counts(firing):
    (alert,) = opened(firing)
    path = f"/alerts/{alert['id']}/acknowledge"
    answer = firing.post(path, json={"by": "Ann"})
    assert answer.status_code == 200
    assert answer.get_json()["acknowledged"]["by"] == "Ann"
    assert firing.post(path, json={"by": "Bob"}).get_json()["acknowledged"]["by"] == "Ann"
    assert opened(firing)[0]["acknowledged"]["by"] == "Ann"


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b'{"by": ""}', "application/json", 422, "bad_input"),
        (b'{"by": "a\\nb"}', "application/json", 422, "bad_input"),
        (b'{"by": "x", "why": "y"}', "application/json", 422, "bad_input"),
        (b'{"by": 1}', "application/json", 422, "bad_input"),
        (b"{", "application/json", 400, "bad_json"),
        (b"\xff", "application/json", 400, "bad_json"),
        (b"by=me", "text/plain", 415, "unsupported_media_type"),
        (b'{"by": "' + b"x" * 5000 + b'"}', "application/json", 413, "too_large"),
        (b'{"by": "x"}', "application/json", 404, "not_found"),
    ],
)
def test_an_odd_word_is_refused(client, body, kind, status, code):
    answer = client.post("/alerts/nobody/acknowledge", data=body, content_type=kind)
    assert answer.status_code == status, answer.text
    assert answer.get_json()["error"]["code"] == code


def test_past_alerts_are_told_up_to_a_number(client):
    assert client.get("/alerts?past=0").get_json()["past"] == []
    for query in ("past=x", "past=-1", "past=1001"):
        assert client.get(f"/alerts?{query}").status_code == 422


def test_an_answer_that_the_client_has_is_not_sent_again(client):
    first = client.get("/alerts")
    again = client.get("/alerts", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304


def test_a_board_tells_of_trainings_too(tmp_path):
    app = create_board(BoardSettings(state=str(tmp_path / "board.db")))
    board = app.test_client()
    try:
        event(board)
        (alert,) = served.until(lambda: opened(board), 20)
        assert alert["name"] == "gradient_explosion"
    finally:
        app.extensions[CLOSING]()
