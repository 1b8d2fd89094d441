"""Claims on their way to the store: bounded while it is away, and seen by whoever takes them."""

from __future__ import annotations

import threading

import pytest

from driftline.metadata.errors import StoreError
from driftline.serving.feedback import joining
from driftline.serving.feedback.joining import Memory
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.testing import FlakyStore

PATIENCE = 10.0


@pytest.fixture
def store():
    return FlakyStore(MemoryStore())


@pytest.fixture
def memory(store):
    return Memory(store, "toy|")


class SlowStore(FlakyStore):
    """One whose `remember` has begun, and ends when the test says so."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.begun, self.go_on = threading.Event(), threading.Event()

    def remember(self, records, *, seconds, most):
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        super().remember(records, seconds=seconds, most=most)


def test_while_the_store_is_away_the_newest_wait_and_the_rest_is_counted(
    store, memory, monkeypatch
):
    monkeypatch.setattr(joining, "MOST_WAITING", 5)
    store.away = True
    for round_ in range(4):
        for n in range(5):
            memory.remember({f"{round_}-{n}": ["red"]})
        with pytest.raises(StoreError):
            memory.send()
    store.away = False
    assert memory.send() == 15
    assert memory.send() == 0
    everyone = [f"{round_}-{n}" for round_ in range(4) for n in range(5)]
    assert sorted(memory.take(everyone)) == [f"3-{n}" for n in range(5)]


def test_what_came_while_a_send_failed_is_trimmed_with_what_it_gives_back(monkeypatch):
    """A full load is under way when a second one is remembered; only the newer stays."""
    monkeypatch.setattr(joining, "MOST_WAITING", 5)
    store = SlowStore()
    memory = Memory(store, "toy|")
    for n in range(5):
        memory.remember({f"old-{n}": ["red"]})
    store.away = True
    failed = []

    def send():
        try:
            memory.send()
        except StoreError as error:
            failed.append(error)

    sending = threading.Thread(target=send)
    sending.start()
    assert store.begun.wait(PATIENCE)
    for n in range(4):
        memory.remember({f"new-{n}": ["red"]})
    store.go_on.set()
    sending.join(PATIENCE)
    assert len(failed) == 1
    store.away = False
    assert memory.send() == 4
    asked = [*(f"old-{n}" for n in range(5)), *(f"new-{n}" for n in range(4))]
    assert list(memory.take(asked)) == ["old-4", *(f"new-{n}" for n in range(4))]


def test_what_was_dropped_is_told_even_where_a_label_was_the_first_to_come(
    store, memory, monkeypatch
):
    monkeypatch.setattr(joining, "MOST_WAITING", 1)
    memory.remember({"a": ["red"]})
    memory.remember({"b": ["red"]})
    assert memory.take(["a", "b"]) == {"b": ["red"]}
    assert memory.send() == 1


def test_a_label_finds_a_claim_that_is_on_its_way():
    """The claim is in nobody's hands while the store is slow: the label waits for it, a further
    request does not."""
    store = SlowStore()
    memory = Memory(store, "toy|")
    memory.remember({"r": ["red"]})
    sending = threading.Thread(target=memory.send)
    sending.start()
    assert store.begun.wait(PATIENCE)
    found: dict[str, list[joining.Claim]] = {}
    taking = threading.Thread(target=lambda: found.update(memory.take(["r"])))
    taking.start()
    taking.join(0.2)
    assert taking.is_alive()
    memory.remember({"later": ["blue"]})
    store.go_on.set()
    for thread in (sending, taking):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert found == {"r": ["red"]}
    assert memory.take(["later"]) == {"later": ["blue"]}


def test_labels_that_waited_for_a_failed_send_do_not_each_ask_again():
    """One timeout for all of them; none waits for those before it."""
    store = SlowStore()
    store.away = True
    memory = Memory(store, "toy|")
    memory.remember({"r": ["red"]})
    failed = []

    def take():
        try:
            memory.take(["r"])
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=take) for _ in range(5)]
    threads[0].start()
    assert store.begun.wait(PATIENCE)
    for thread in threads[1:]:
        thread.start()
    for thread in threads[1:]:
        thread.join(0.1)
        assert thread.is_alive()
    store.go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(failed) == 5
    assert store.calls["remember"] == 1
    store.away = False
    assert memory.take(["r"]) == {"r": ["red"]}
