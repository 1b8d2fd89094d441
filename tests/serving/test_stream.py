"""Streams: history first, then changes, resumed where they broke, and never at others' cost."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest
from flask import Flask
from reading import Reader

from driftline.metadata.errors import StoreError
from driftline.serving import stream
from driftline.serving.api import context, errors
from driftline.serving.api import stream as api
from driftline.serving.runs.push import Point, Push
from driftline.serving.runs.runs import Runs
from driftline.serving.runs.sources import RunSource, Topic
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stream import Streams, cursors


def push(runs: Runs, sequence: int, run: str = "a", size: int = 2) -> None:
    first = (sequence - 1) * size
    runs.push(
        run,
        Push(
            sequence,
            tuple(Point(step, 1e9 + step, {"x": 1.0}) for step in range(first, first + size)),
        ),
    )


@pytest.fixture
def runs() -> Runs:
    return Runs(MemoryStore())


def test_history_first_then_what_comes(runs: Runs) -> None:
    streams = Streams(2)
    push(runs, 1)
    reader = Reader(streams.events([RunSource("a", runs, streams)], {}, None))
    name, data, identity = reader.next()
    assert (name, data["steps"], data["names"]) == ("history", [0, 1], ["x"])
    assert json.loads(identity) == {"run:a": "1000000000000:1"}
    push(runs, 2)
    name, data, _ = reader.next()
    assert (name, data["steps"], data["after"]) == ("points", [2, 3], 2)


def test_the_event_id_says_where_to_go_on(runs: Runs) -> None:
    streams = Streams(2)
    push(runs, 1)
    reader = Reader(streams.events([RunSource("a", runs, streams)], {}, None))
    reader.next()
    for sequence in range(2, 9):
        push(runs, sequence)
    again = Reader(streams.events([RunSource("a", runs, streams)], cursors(reader.id), None))
    assert again.steps(15) == list(range(2, 16))


def test_who_missed_too_much_gets_the_whole(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftline.serving.runs.sources.MOST_MISSED", 5)
    streams = Streams(2)
    for sequence in range(1, 11):
        push(runs, sequence)
    for place in ("1000000000000:2", "1000000000000:99", "junk", "7:junk", ""):
        reader = Reader(streams.events([RunSource("a", runs, streams)], {"run:a": place}, None))
        name, data, _ = reader.next()
        assert (name, data["steps"]) == ("history", list(range(20))), place


def test_a_run_that_begins_anew_is_told_whole(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftline.serving.runs.sources.LIST_SECONDS", 0.0)
    streams = Streams(2)
    push(runs, 1)
    push(runs, 2)
    reader = Reader(streams.events([RunSource("a", runs, streams)], {}, None))
    reader.next()
    runs.push("a", Push(1, (Point(500, 2e9, {"x": 2.0}),)))
    name, data, _ = reader.next()
    assert (name, data["steps"]) == ("history", [500])


def test_a_store_that_is_away_is_said_once_and_the_stream_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "POLL_SECONDS", 0.01)
    problems = [StoreError("away"), StoreError("away"), None]

    def read() -> dict[str, int]:
        problem = problems.pop(0) if problems else None
        if problem:
            raise problem
        return {"version": 1}

    streams = Streams(1)
    reader = Reader(streams.events([Topic("drift", read, streams, seconds=0)], {}, None))
    assert reader.next()[1]["store"] == "away"
    found = {reader.next()[0], reader.next()[0]}
    assert found == {"drift", "beat"}


def test_many_streams_ask_the_store_once() -> None:
    asked = []
    streams = Streams(8)

    def read() -> int:
        asked.append(1)
        return 1

    for _ in range(8):
        source = Topic("drift", read, streams)
        assert Reader(streams.events([source], {}, None)).next()[:2] == ("drift", 1)
    assert len(asked) == 1


def test_what_this_process_wrote_is_told_at_once(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the call it would be told a minute later, when the store is asked again."""
    monkeypatch.setattr(stream, "POLL_SECONDS", 60.0)
    streams = Streams(1)
    push(runs, 1)
    reader = Reader(streams.events([RunSource("a", runs, streams)], {}, None))
    reader.next()

    def write() -> None:
        time.sleep(0.03)
        push(runs, 2)
        streams.wake("run:a")

    began = time.monotonic()
    threading.Thread(target=write).start()
    assert reader.next()[1]["steps"] == [2, 3]
    assert time.monotonic() - began < 30


def test_streams_end_when_their_worker_does(runs: Runs) -> None:
    streams = Streams(1)
    push(runs, 1)
    pieces = streams.events([RunSource("a", runs, streams)], {}, None)
    Reader(pieces).next()
    streams.until(lambda: True)
    assert list(pieces) == []


def test_a_client_that_left_gives_its_place_back(runs: Runs) -> None:
    ours, theirs = socket.socketpair()
    streams = Streams(1)
    pieces = streams.events([RunSource("a", runs, streams)], {}, ours)
    next(pieces)
    theirs.close()
    assert list(pieces) == []
    ours.close()


def test_a_client_that_does_not_read_is_dropped(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "SLOW_SECONDS", 0.2)
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    streams = Streams(1)
    push(runs, 1, size=2_000)
    ours.setblocking(False)
    for piece in streams.events([RunSource("a", runs, streams)], {}, ours):
        try:
            ours.send(piece)
        except BlockingIOError:
            continue
    assert streams.dropped == 1
    ours.close()
    theirs.close()


def test_a_stream_that_is_never_read_takes_no_place(runs: Runs) -> None:
    streams = Streams(1)
    app = Flask(__name__)
    app.register_blueprint(api.blueprint(lambda: runs, streams, {}))
    answer = app.test_client().head("/stream?topic=runs")
    assert answer.status_code == 200
    answer.close()  # as a server does
    assert streams.open == 0


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "topic"),
        ("topic=weather", "topic"),
        ("run=%00", "run"),
        ("&".join(f"run=r{n}" for n in range(13)), "run"),
        ("run=a&points=0x1", "points"),
    ],
)
def test_what_cannot_be_followed_is_refused(runs: Runs, query: str, field: str) -> None:
    app = Flask(__name__)
    app.before_request(context.begin_request)
    errors.register(app)
    app.register_blueprint(api.blueprint(lambda: runs, Streams(1), {}))
    answer = app.test_client().get(f"/stream?{query}")
    assert (answer.status_code, answer.json["error"]["field"]) == (422, field)
