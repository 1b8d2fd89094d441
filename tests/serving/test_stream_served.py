"""Streams of real workers: any of them tells all, none of them is starved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from boards import Board, points, until
from reading import Reader


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    started = Board(tmp_path_factory.mktemp("streams"))
    yield started
    started.stop()


@pytest.fixture
def follow(board: Board) -> Iterator[Callable[..., tuple[requests.Response, Reader]]]:
    opened: list[requests.Response] = []

    def start(query: str, **headers: str) -> tuple[requests.Response, Reader]:
        url = f"{board.address}/stream?{query}"
        answer = requests.get(url, stream=True, timeout=20, headers=headers)
        opened.append(answer)
        return answer, Reader(answer.iter_content(None))

    yield start
    for each in opened:
        each.close()


def test_every_worker_tells_what_any_worker_took(
    board: Board, follow: Callable[..., tuple[requests.Response, Reader]]
) -> None:
    assert len(board.workers()) == 2
    readers = [follow("run=shared")[1] for _ in range(6)]
    for sequence in range(1, 21):
        board.push("shared", sequence, points(5 * (sequence - 1), 5))
    for reader in readers:
        assert reader.steps(99) == list(range(100))


def test_a_stream_is_resumed_without_gap_or_repetition(
    board: Board, follow: Callable[..., tuple[requests.Response, Reader]]
) -> None:
    board.push("resumed", 1, points(0, 5))
    answer, reader = follow("run=resumed")
    assert reader.steps(4) == [0, 1, 2, 3, 4]
    answer.close()
    for sequence in range(2, 12):
        board.push("resumed", sequence, points(5 * (sequence - 1), 5))
    _, again = follow("run=resumed", **{"Last-Event-ID": reader.id})
    assert again.steps(54) == list(range(5, 55))


def test_streams_leave_threads_for_everything_else(
    board: Board, follow: Callable[..., tuple[requests.Response, Reader]]
) -> None:
    """Of more streams than there is room for some are refused, and requests are answered."""
    statuses = [follow("topic=runs")[0].status_code for _ in range(40)]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) <= 32
    refused = next(
        answer
        for answer, _ in (follow("topic=runs") for _ in range(40))
        if answer.status_code == 503
    )
    assert refused.json()["error"]["code"] == "too_many_streams"
    began = time.monotonic()
    for _ in range(20):
        assert requests.get(f"{board.address}/runs", timeout=5).ok
    assert time.monotonic() - began < 5


def test_places_come_back_when_clients_leave(
    board: Board, follow: Callable[..., tuple[requests.Response, Reader]]
) -> None:
    for answer, _ in [follow("topic=runs") for _ in range(40)]:
        answer.close()
    until(lambda: all(follow("topic=runs")[0].status_code == 200 for _ in range(4)), 15, "a place")


def test_a_board_with_open_streams_ends_at_once(tmp_path: Path) -> None:
    board = Board(tmp_path)
    opened = [
        requests.get(f"{board.address}/stream?topic=runs", stream=True, timeout=20)
        for _ in range(4)
    ]
    assert board.stop() < 9  # it would wait 10 s for a request that goes on
    for each in opened:
        each.close()
