"""``/runs``: what clients see of runs, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient
from pushes import batch

from driftline.serving.api import context, errors
from driftline.serving.api import runs as api
from driftline.serving.runs.push import Point, Push, TrainingEvent
from driftline.serving.runs.runs import Runs
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.sqlite import SqliteStore
from driftline.serving.stores.store import Store
from driftline.serving.stream import Streams


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "runs.db")
    yield made
    made.close()


def body(push: Push) -> bytes:
    return msgspec.json.encode(push)


@pytest.fixture
def client(store: Store) -> FlaskClient:
    app = Flask(__name__)
    app.before_request(context.begin_request)
    errors.register(app)
    app.register_blueprint(api.blueprint(lambda: Runs(store), Streams(1)))
    return app.test_client()


def test_what_was_pushed_is_read_back(client: FlaskClient) -> None:
    """Steps, times and values come back as they were sent, absent ones as null."""
    answer = client.post(
        "/runs/digits/points", data=body(batch(1)), content_type="application/json"
    )
    assert (answer.status_code, answer.json) == (
        200,
        {"accepted": 10, "duplicate": False, "sequence": 1},
    )
    told = client.get("/runs/digits/points").json
    assert told["steps"] == list(range(10))
    assert told["unix_times"] == [1e9 + step for step in range(10)]
    assert told["series"]["loss"]["values"] == [1 / (step + 1) for step in range(10)]
    assert told["series"]["norm"]["values"] == [2.0, None, None, None, None] * 2
    assert told["sampled"] is False


def test_a_push_repeated_counts_once(client: FlaskClient, store: Store) -> None:
    for sequence in (1, 2, 1, 2, 2, 3, 3):
        Runs(store).push("a", batch(sequence))
    answer = client.post("/runs/a/points", data=body(batch(2)), content_type="application/json")
    assert answer.json == {"accepted": 0, "duplicate": True, "sequence": 3}
    assert client.get("/runs/a").json["points"] == 30
    assert client.get("/runs/a/points").json["steps"] == list(range(30))


def test_a_training_report_is_kept_as_text(client: FlaskClient, store: Store) -> None:
    Runs(store).push("a", batch(1))
    assert client.get("/runs/a/report").status_code == 404
    assert client.put("/runs/b/report", data=b"x").status_code == 404
    assert client.put("/runs/a/report", data=b"\xff").status_code == 422
    assert client.put("/runs/a/report", data="# Bericht <b>ü</b>".encode()).status_code == 200
    answer = client.get("/runs/a/report")
    assert answer.text == "# Bericht <b>ü</b>"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert client.get("/runs/a").json["report"] is True


def test_news_goes_on_where_it_ended(client: FlaskClient, store: Store) -> None:
    kept = Runs(store)
    for sequence in range(1, 701):
        kept.push("a", batch(sequence, 2))
    after, steps = 100, []
    while True:
        told = client.get(f"/runs/a/points?after={after}").json
        steps += told["steps"]
        after = told["after"]
        if not told["more"]:
            break
    assert steps == list(range(200, 1400))
    assert client.get(f"/runs/a/points?after={after}").json["steps"] == []


def test_down_sampled_on_request(client: FlaskClient, store: Store) -> None:
    kept = Runs(store)
    for sequence in range(1, 101):
        kept.push("a", batch(sequence, 10))
    told = client.get("/runs/a/points?points=50&from=100&to=899&name=loss").json
    assert told["sampled"] is True
    assert len(told["steps"]) == 50
    loss = told["series"]["loss"]
    assert max(loss["high"]) == 1 / 101
    assert min(loss["low"]) == 1 / 900
    assert list(told["series"]) == ["loss"]
    assert list(client.get("/runs/a/points?prefix=no").json["series"]) == ["norm"]
    assert list(client.get("/runs/a/points?without=no").json["series"]) == ["loss"]


def test_values_that_are_not_finite_are_null(client: FlaskClient, store: Store) -> None:
    Runs(store).push("a", Push(1, (Point(0, 1.0, {"loss": 1.0}), Point(1, 2.0, {"loss": None}))))
    assert client.get("/runs/a/points").json["series"]["loss"]["values"] == [1.0, None]
    assert client.get("/runs/a").json["latest"] == {"loss": {"step": 0, "value": 1.0}}


def test_events_stand_in_the_run(client: FlaskClient, store: Store) -> None:
    found = TrainingEvent(7, "2026-01-02T03:04:05.678Z", "explosion", "major", "Norm 1e4 > 1e2.")
    raw = msgspec.json.encode({"sequence": 1, "events": [msgspec.to_builtins(found)]})
    assert (
        client.post("/runs/a/points", data=raw, content_type="application/json").status_code == 200
    )
    told = client.get("/runs/a").json
    assert told["points"] == 0
    assert told["first_step"] is None
    assert told["events"] == [told["last_event"]]
    assert told["last_event"] == {
        "step": 7,
        "time": "2026-01-02T03:04:05.678Z",
        "rule": "explosion",
        "severity": "major",
        "sentence": "Norm 1e4 > 1e2.",
    }
    assert client.get("/runs").json["runs"][0]["events"] == 1


@pytest.mark.parametrize("severity", ["info", "critical"])
def test_a_run_that_said_it_ended_is_ended_until_it_goes_on(
    client: FlaskClient, store: Store, severity: str
) -> None:
    """However it ended; its silence afterwards is no riddle, and a point that it still sends (an
    evaluation) does not wake it. When it says that it goes on, it is live."""

    def said(sequence: int, rule: str, severity: str) -> None:
        event = TrainingEvent(9, 9.0, rule, severity, "It is so.")
        Runs(store).push("a", Push(sequence, events=(event,)))

    Runs(store).push("a", Push(1, (Point(8, 1.0, {"loss": 1.0}),)))
    assert client.get("/runs/a").json["state"] == "live"
    said(2, "ended", severity)
    assert client.get("/runs").json["runs"][0]["state"] == "ended"
    Runs(store).push("a", Push(3, (Point(9, 2.0, {"accuracy": 0.9}),)))
    assert client.get("/runs/a").json["state"] == "ended"
    said(4, "resumed", "info")
    assert client.get("/runs/a").json["state"] == "live"


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"", ""),
        (b"[]", ""),
        (b"\xff\xfe", ""),
        (b'{"sequence": 0}', "sequence"),
        (b'{"sequence": 1.5}', "sequence"),
        (b'{"points": []}', ""),
        (b'{"sequence": 1, "more": 1}', ""),
        (b'{"sequence": 1, "points": [{"step": -1, "time": 1, "values": {}}]}', "points[0].step"),
        (b'{"sequence": 1, "points": [{"step": 1, "values": {}}]}', "points[0]"),
        (b'{"sequence": 1, "points": [{"step": 1, "time": NaN, "values": {}}]}', ""),
        (b'{"sequence": 1, "points": [{"step": 1, "time": 1, "values": {"x": 1e999}}]}', ""),
        (b'{"sequence": 1, "points": [{"step": 1, "time": 1, "values": {"x": "1"}}]}', "points"),
        (b'{"sequence": 1, "points": [{"step": 1, "time": 1, "values": {"": 1}}]}', "points[0]"),
        (b'{"sequence": 1, "points": [{"step": 1, "time": 1, "values": {"a\\n": 1}}]}', "points"),
        (b'{"sequence": 1, "points": [{"step": 1, "time": "2026-01-02T03:04:05", "values": {}}]}',
         "points[0].time"),
        (b'{"sequence": 1, "points": [{"step": 1, "time": 1e12, "values": {}}]}', "points"),
        (b'{"sequence": 1, "points": ' + b"[" * 50_000, ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_field_and_reason(
    client: FlaskClient, raw: bytes, field: str
) -> None:
    answer = client.post("/runs/a/points", data=raw, content_type="application/json")
    assert answer.status_code == 422
    assert (answer.json["error"]["field"] or "").startswith(field)
    assert answer.json["error"]["message"]
    assert client.get("/runs").json == {"runs": []}


def test_sizes_are_bounded(client: FlaskClient) -> None:
    many = {f"v{n}": 1.0 for n in range(2_001)}
    wide = msgspec.json.encode({"sequence": 1, "points": [{"step": 1, "time": 1, "values": many}]})
    answer = client.post("/runs/a/points", data=wide, content_type="application/json")
    assert (answer.status_code, answer.json["error"]["field"]) == (422, "points[0].values")
    long = msgspec.json.encode(batch(1, 2_001))
    answer = client.post("/runs/a/points", data=long, content_type="application/json")
    assert answer.status_code == 422
    huge = b'{"sequence": 1' + b" " * (4 * 2**20) + b"}"
    answer = client.post("/runs/a/points", data=huge, content_type="application/json")
    assert answer.status_code == 413
    answer = client.post("/runs/a/points", data=b"sequence=1", content_type="text/plain")
    assert answer.status_code == 415


@pytest.mark.parametrize("name", ["a%2Fb", "a%00", "%20a", "x" * 101, "a%3Fb", "%F0%9F", ".."])
def test_a_run_has_a_name_that_fits_into_an_address(client: FlaskClient, name: str) -> None:
    answer = client.post(
        f"/runs/{name}/points", data=body(batch(1)), content_type="application/json"
    )
    assert answer.status_code in (404, 422)
    assert client.get("/runs").json == {"runs": []}


@pytest.mark.parametrize(
    "name", ["digits", "Größe 3", "数字", "<img src=x onerror=alert(1)>", "a.b"]
)
def test_a_run_may_be_called_what_people_like(client: FlaskClient, name: str) -> None:
    from urllib.parse import quote

    address = f"/runs/{quote(name, safe='')}"
    answer = client.post(f"{address}/points", data=body(batch(1)), content_type="application/json")
    assert answer.status_code == 200
    assert client.get(address).json["run"] == name
    assert client.get("/runs").json["runs"][0]["run"] == name


def test_unknown_runs_and_impossible_questions(client: FlaskClient, store: Store) -> None:
    assert client.get("/runs/a").status_code == 404
    assert client.get("/runs/a/points").status_code == 404
    Runs(store).push("a", batch(1))
    for query in ("after=-1", "after=x", "points=5001", "from=1e3", "points=٣", "name=%00"):
        answer = client.get(f"/runs/a/points?{query}")
        assert answer.status_code == 422, query
        assert answer.json["error"]["field"] == query.split("=")[0]
    assert client.get("/runs/a/points?from=9&to=3").json["steps"] == []
