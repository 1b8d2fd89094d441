"""Runs: what trainings push arrives once, and is read back at any coarseness."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.metadata.errors import InputError
from driftline.serving.api import context, errors
from driftline.serving.api import runs as api
from driftline.serving.runs import levels, runs
from driftline.serving.runs.push import Point, Push, TrainingEvent, parse_push
from driftline.serving.runs.rows import Rows, unpack
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


@pytest.fixture
def client(store: Store) -> FlaskClient:
    app = Flask(__name__)
    app.before_request(context.begin_request)
    errors.register(app)
    app.register_blueprint(api.blueprint(lambda: Runs(store), Streams(1)))
    return app.test_client()


def batch(sequence: int, size: int = 10, *, first: int | None = None, **more: Any) -> Push:
    """A push whose loss falls as 1/step, with a gradient norm every fifth step."""
    start = (sequence - 1) * size if first is None else first
    points = tuple(
        Point(step, 1e9 + step, {"loss": 1 / (step + 1)} | ({} if step % 5 else {"norm": 2.0}))
        for step in range(start, start + size)
    )
    return Push(sequence, points, **more)


def body(push: Push) -> bytes:
    return msgspec.json.encode(push)


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


def test_two_workers_that_take_the_same_pushes_agree(store: Store) -> None:
    """Whoever takes a push, and however often, every level is made once."""
    first, second = Runs(store), Runs(store)
    for sequence in range(1, 600):
        first.push("a", batch(sequence, 2))
        second.push("a", batch(sequence, 2))
    summary = first.summary("a")
    assert summary is not None
    assert summary == second.summary("a")
    assert summary.points == 1198
    for level in range(1, levels.TOP + 1):
        entries = store.entries(f"run/{level}/1000000000000/a", 0, 10_000)
        assert len(entries) == 599 // 16**level


def test_an_old_summary_is_not_wrong(store: Store) -> None:
    """A worker that was stopped may store one late: what came since is folded by its reader."""
    kept = Runs(store)
    kept.push("a", batch(1))
    old = store.entries("run/summary/a", 0, 1)[0].value
    for sequence in range(2, 40):
        kept.push("a", batch(sequence))
    now = kept.summary("a")
    store.append("run/summary/a", [old], keep=1)
    assert Runs(store).summary("a") == now


@pytest.mark.parametrize("size", [1, 7])
def test_any_stretch_keeps_every_point_in_its_weight(
    store: Store, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Least, largest, mean and number of any stretch are exact, through all levels."""
    monkeypatch.setattr(levels, "ENOUGH_ENTRIES", 40)
    kept = Runs(store)
    rng = np.random.default_rng(5)
    values = rng.normal(size=1_500 * size)
    for sequence in range(1, 1_501):
        at = (sequence - 1) * size
        points = tuple(Point(at + i, 1.0, {"x": float(values[at + i])}) for i in range(size))
        kept.push("a", Push(sequence, points))
    summary = kept.summary("a")
    assert summary is not None
    whole = kept.rows("a", summary, ["x"], 0, 2**53)
    assert whole.weight.sum() == len(values)
    assert len(whole) < len(values)
    reduced = whole.binned(20)
    assert len(reduced) <= 20
    assert reduced.weight.sum() == len(values)
    assert reduced.low.min() == values.min()
    assert reduced.high.max() == values.max()
    mean = float((reduced.mean * reduced.weight).sum() / reduced.weight.sum())
    assert math.isclose(mean, values.mean(), rel_tol=1e-9)
    for row in range(len(reduced)):
        inside = values[reduced.first[row, ...] : reduced.last[row] + 1]
        assert reduced.low[row, 0] == inside.min()
        assert reduced.high[row, 0] == inside.max()
    fine = kept.rows("a", summary, ["x"], 700, 720)
    assert fine.is_exact
    assert fine.last.tolist() == list(range(700, 721))
    assert fine.mean[:, 0].tolist() == values[700:721].tolist()


def test_the_oldest_points_grow_coarse_and_are_not_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "KEEP", (100, 50, 50, 50))
    kept = Runs(store)
    for sequence in range(1, 401):
        kept.push("a", batch(sequence, 3))
    summary = kept.summary("a")
    assert summary is not None
    rows = kept.rows("a", summary, ["loss"], 0, 2**53)
    assert rows.weight.sum() == 1200
    assert rows.high.max() == 1.0
    assert not kept.rows("a", summary, ["loss"], 0, 50).is_exact
    assert kept.rows("a", summary, ["loss"], 1150, 1199).is_exact


def test_a_run_that_is_begun_anew_forgets_its_first_life(store: Store) -> None:
    """Its folder was removed: sequence numbers begin at 1 again, and points are later."""
    kept = Runs(store)
    for sequence in range(1, 41):
        kept.push("a", batch(sequence))
    kept.push("b", batch(1))
    again = batch(1, first=5_000)
    assert kept.push("a", again).accepted == 10
    assert kept.push("a", again).duplicate
    assert Runs(store).push("a", batch(2, first=5_010)).accepted == 10
    summary = kept.summary("a")
    assert summary is not None
    assert (summary.points, summary.first_step, summary.last_step) == (20, 5_000, 5_019)
    assert len(kept.rows("a", summary, ["loss"], 0, 2**53)) == 20
    assert store.logs("run/0/") == ["run/0/1000000000000/b", "run/0/1000005000000/a"]


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


def test_too_many_runs_make_room_for_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was silent longest goes; if none is silent, the new one is refused."""
    monkeypatch.setattr(runs, "MOST_RUNS", 3)
    now = 1e9
    kept = Runs(store, clock=lambda: now)
    for name in ("c", "a", "b"):
        kept.push(name, batch(1))
        now += 1
    with pytest.raises(InputError, match="under way"):
        kept.push("d", batch(1))
    now += runs.SILENT
    kept.push("a", batch(2))
    kept.push("d", batch(1))
    assert kept.names() == ["a", "b", "d"]
    assert kept.summary("c") is None


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


values = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False, width=64))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), values, max_size=3), max_size=40),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_reducing_twice_is_reducing_once(
    points: list[dict[str, float | None]], first: int, second: int
) -> None:
    """Whatever was sent; and packing loses nothing."""
    rows = Rows.of_points([Point(at, 1.0, each) for at, each in enumerate(points)])
    again = unpack(rows.pack())
    assert again.names == rows.names
    np.testing.assert_array_equal(again.mean, rows.mean)
    twice, once = rows.every(first).every(second), rows.every(first * second)
    twice = unpack(twice.pack())
    np.testing.assert_array_equal(twice.low, once.low)
    np.testing.assert_array_equal(twice.high, once.high)
    np.testing.assert_array_equal(twice.weight, once.weight)
    most = float(np.nanmax(np.abs(rows.mean), initial=0.0))
    np.testing.assert_allclose(twice.mean, once.mean, rtol=1e-9, atol=1e-9 * most)
    assert Rows.joined([rows, Rows.of_points([])]).names == rows.names


def test_a_push_is_parsed_as_the_training_side_writes_it() -> None:
    """The body that the monitor's board sink sends."""
    raw = (
        b'{"sequence": 3, "points": [{"step": 5, "time": 1760000000.5, "values": '
        b'{"loss": 0.25, "grad_norm/fc.weight": 1e-3}}], "events": [{"step": 5, "time": '
        b'1760000000.5, "rule": "explosion", "severity": "warning", "sentence": "It grew."}]}'
    )
    push = parse_push(raw)
    assert push.sequence == 3
    assert push.points[0].values["grad_norm/fc.weight"] == 1e-3
    assert push.events[0].rule == "explosion"
