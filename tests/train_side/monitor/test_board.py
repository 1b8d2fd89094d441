"""The board: a real HTTP server that answers, fails, is slow, and goes away."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pushed import Service, Writer
from watched import Trained, train, until

from driftline.train_side.point import Notice, stamp
from driftline.train_side.settings import MonitorSettings, Sampling


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.stop()


def test_points_arrive_as_the_service_wants_them(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIFTLINE_TOKEN", "secret")
    writer = Writer(tmp_path, service.url)
    writer.journal.append(
        Notice(time=stamp(1), step=1, rule="non_finite", severity="critical", sentence="So.")
    )
    writer.write(range(1, 26))
    writer.close()
    assert service.paths[0] == "/runs/digits/points"
    assert service.headers[0]["Authorization"] == "Bearer secret"
    body = service.bodies[0]
    assert set(body) == {"sequence", "points", "events"}
    assert body["points"][3] == {
        "step": 4,
        "time": "1970-01-01T00:00:04.000Z",
        "values": {"loss": 0.25},
    }
    assert body["events"] == [
        {
            "step": 1,
            "time": "1970-01-01T00:00:01.000Z",
            "rule": "non_finite",
            "severity": "critical",
            "sentence": "So.",
        }
    ]
    assert service.steps() == list(range(1, 26))


def test_ten_points_go_at_once_and_fewer_within_half_a_second(
    service: Service, tmp_path: Path
) -> None:
    writer = Writer(tmp_path, service.url)
    began = time.monotonic()
    writer.write(range(1, 11))
    until(lambda: len(service.steps()) == 10)
    writer.write(range(11, 13))
    until(lambda: len(service.steps()) == 12)
    assert time.monotonic() - began < 3
    writer.close()


def test_sequence_numbers_grow(service: Service, tmp_path: Path) -> None:
    writer = Writer(tmp_path, service.url)
    for first in range(1, 61, 20):
        writer.write(range(first, first + 20))
        until(lambda: len(service.steps()) >= first + 19)  # noqa: B023
    writer.close()
    numbers = [body["sequence"] for body in service.bodies]
    assert numbers == sorted(set(numbers))


def test_a_board_that_was_away_is_caught_up_from_the_files(tmp_path: Path) -> None:
    gone = Service()
    gone.stop()
    writer = Writer(tmp_path, gone.url)
    for first in range(1, 1001, 50):
        writer.write(range(first, first + 50))
    until(lambda: writer.board.error is not None)
    back = Service(gone.port)
    until(lambda: len(back.steps()) == 1000, 30)
    assert back.steps() == list(range(1, 1001))
    writer.close()
    back.stop()


def test_a_failed_batch_is_sent_again_under_its_number(service: Service, tmp_path: Path) -> None:
    service.answer = 500
    writer = Writer(tmp_path, service.url)
    writer.write(range(1, 16))
    until(lambda: len(service.attempts) >= 2)
    service.answer = 200
    until(lambda: len(service.steps()) == 15)
    assert len(set(service.attempts)) == 1
    writer.close()


def test_a_board_that_hangs_is_left_after_the_timeout(service: Service, tmp_path: Path) -> None:
    service.delay = 30.0
    writer = Writer(tmp_path, service.url, timeout=0.2)
    writer.write(range(1, 16))
    until(lambda: writer.board.error is not None)
    began = time.monotonic()
    writer.close(10)
    assert time.monotonic() - began < 4


def pushing() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "driftline-board"]


def test_a_run_that_did_not_end_in_time_does_not_go_on_in_the_next(
    service: Service, tmp_path: Path
) -> None:
    """The first run's push is under way when the second begins: it ends after that push, and each
    point of the second arrives once, under the second's name."""
    service.delay = 1.5
    first = Writer(tmp_path / "one", service.url, name="one")
    first.write(range(1, 16))
    until(lambda: service.attempts)
    first.close(0.1)
    (late,) = pushing()
    second = Writer(tmp_path / "two", service.url, board=first.board, name="two")
    second.write(range(101, 116))
    late.join(10)
    service.delay = 0.0
    second.write(range(116, 131))
    until(lambda: len(service.steps()) >= 45)
    assert len(pushing()) == 1
    second.close()
    assert pushing() == []
    told = {
        name: [
            point["step"]
            for path, body in zip(service.paths, service.bodies, strict=True)
            for point in body["points"]
            if path == f"/runs/{name}/points"
        ]
        for name in ("one", "two")
    }
    assert told == {"one": list(range(1, 16)), "two": list(range(101, 131))}
    assert second.board.sent == 30


def test_what_arrives_after_the_end_is_sent_again_by_who_opens_the_run(
    service: Service, tmp_path: Path
) -> None:
    """Under its number, so that the service counts it once; the late answer changes no file that
    the new one writes."""
    service.delay = 1.0
    first = Writer(tmp_path, service.url)
    first.write(range(1, 16))
    until(lambda: service.attempts)
    first.close(0.1)
    (late,) = pushing()
    second = Writer(tmp_path, service.url, board=first.board)
    second.write(range(16, 31))
    late.join(10)
    service.delay = 0.0
    second.close()
    numbers = [body["sequence"] for body in service.bodies]
    assert numbers[0] == numbers[1] == service.attempts[0]
    assert sorted(set(service.steps())) == list(range(1, 31))
    assert json.loads((tmp_path / "board.json").read_text())["last"] == numbers[-1]


def test_a_batch_that_is_refused_is_left_out(service: Service, tmp_path: Path) -> None:
    service.answer = 422
    writer = Writer(tmp_path, service.url)
    writer.write(range(1, 11))
    until(lambda: writer.board.refused == 10)
    service.answer = 200
    writer.write(range(11, 21))
    writer.close()
    assert service.steps() == list(range(11, 21))


def test_a_batch_that_is_too_large_is_cut(tmp_path: Path) -> None:
    class Small(Service):
        pass

    service = Small()
    real = service.server.RequestHandlerClass.do_POST

    def do_post(handler) -> None:
        too_large = int(handler.headers["Content-Length"]) > 3000
        service.answer = 413 if too_large else 200
        real(handler)

    service.server.RequestHandlerClass.do_POST = do_post
    writer = Writer(tmp_path, service.url)
    writer.write(range(1, 101))
    until(lambda: len(service.steps()) == 100, 20)
    assert service.steps() == list(range(1, 101))
    writer.close()
    service.stop()


def test_a_killed_process_leaves_a_batch_that_is_sent_again_alike(
    service: Service, tmp_path: Path
) -> None:
    service.answer = 500  # arrived, for all the sender knows
    writer = Writer(tmp_path, service.url)
    writer.write(range(1, 16))
    until(lambda: service.attempts)
    (number,) = set(service.attempts)
    state = json.loads((tmp_path / "board.json").read_text())
    assert state == {"run": "digits", "last": 0, "leaving": number}
    writer.close(0.1)
    service.answer = 200
    second = Writer(tmp_path, service.url)
    second.write(range(16, 31))
    second.close()
    assert service.bodies[0]["sequence"] == number
    assert service.steps() == list(range(1, 31))


@pytest.mark.slow
@pytest.mark.usefixtures("graph")
def test_a_training_does_not_mind_what_the_board_does(service: Service, tmp_path: Path) -> None:
    alone = train(tmp_path / "alone", watched=False)
    settings = MonitorSettings(sampling=Sampling(every=1), report=False)
    for what in ("refuses connections", "answers 500", "hangs"):
        service.answer = 500 if what == "answers 500" else 200
        service.delay = 60.0 if what == "hangs" else 0.0
        url = "http://127.0.0.1:9" if what == "refuses connections" else service.url
        began = time.monotonic()
        trained = train(tmp_path / what, board=url, settings=settings)
        assert trained.losses == alone.losses
        assert list(trained.series("loss")) == list(range(1, 21))
        assert time.monotonic() - began < 30


@pytest.mark.slow
@pytest.mark.usefixtures("graph")
def test_a_training_is_seen_on_the_board(service: Service, tmp_path: Path) -> None:
    trained: Trained = train(tmp_path / "run", board=service.url)
    losses = {
        point["step"]: point["values"]["loss"]
        for body in service.bodies
        for point in body["points"]
        if "loss" in point["values"]
    }
    assert losses == pytest.approx(dict(enumerate(trained.losses, start=1)), rel=1e-6)
    norms = [name for point in trained.points() for name in point.values if "/" in name]
    assert "grad_norm/0.weight" in norms
    assert service.bodies[-1]["events"][-1]["rule"] == "ended"
