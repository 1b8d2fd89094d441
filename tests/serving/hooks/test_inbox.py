"""Requests wait raw for a moment; however many there are, none is dropped."""

from __future__ import annotations

import threading

from driftline.serving.hooks.inbox import Inbox
from driftline.serving.hooks.seen import Seen


def request(size: int = 10) -> Seen:
    seen = Seen(None)
    seen.size = size
    return seen


def test_what_waits_is_counted_once_by_drain():
    counted: list[Seen] = []
    inbox = Inbox(counted.extend, lambda: None)
    requests = [request() for _ in range(5)]
    for each in requests:
        inbox.append(each)
    assert counted == []
    inbox.drain()
    inbox.drain()
    assert counted == requests


def test_half_full_wakes_the_counter_and_full_counts_in_the_request():
    counted: list[Seen] = []
    woken: list[int] = []
    inbox = Inbox(counted.extend, lambda: woken.append(1), most_bytes=100)
    for _ in range(5):
        inbox.append(request(10))
    assert (len(woken), len(counted)) == (1, 0)
    for _ in range(5):
        inbox.append(request(10))
    assert len(counted) == 10


def test_one_request_larger_than_the_window_is_counted_at_once():
    counted: list[Seen] = []
    inbox = Inbox(counted.extend, lambda: None, most_bytes=100)
    inbox.append(request(10_000))
    assert len(counted) == 1


def test_many_threads_lose_nothing():
    total, lock = [0], threading.Lock()

    def count(requests: list[Seen]) -> None:
        with lock:
            total[0] += len(requests)

    inbox = Inbox(count, lambda: None, most_bytes=1_000)

    def work() -> None:
        for _ in range(2_000):
            inbox.append(request(7))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    inbox.drain()
    assert total[0] == 16_000
