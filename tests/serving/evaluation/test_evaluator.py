"""One worker evaluates; whoever lost the lease writes nothing."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import served

from driftline.serving.evaluation.evaluator import Evaluator
from driftline.serving.evaluation.standing import decode, encode
from driftline.serving.evaluation.timeline import points
from driftline.serving.hooks.courier import Courier
from driftline.serving.hooks.seen import Seen
from driftline.serving.hooks.tally import Tally
from driftline.serving.series import Series
from driftline.serving.stores.memory import MemoryStore

METADATA = served.metadata()
SERIES = Series.of(METADATA, 60)
START = 1_800_000_000


class Clock:
    def __init__(self) -> None:
        self.now = float(START)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(clock):
    return MemoryStore(clock=clock)


def evaluator(store, holder: str = "a") -> Evaluator:
    return Evaluator(METADATA, SERIES, store, thresholds=METADATA.thresholds, holder=holder)


def traffic(store, at: float, rows: int = 500, shift: float = 0.0, seed: int = 0) -> None:
    tally = Tally(METADATA, SERIES, low_confidence=0.3, latency_ms=200)
    seen = Seen(served.rows(rows, seed, shift=shift))
    seen.outputs, seen.at, seen.seconds = seen.inputs @ served.weights(), at, 0.002
    courier = Courier(store, SERIES.keep)
    courier.add(*tally.count([seen]))
    assert courier.send()


def standing(store):
    return decode(store.get(SERIES.verdict)[1])


def test_clean_traffic_stands_stable_and_a_shift_is_called(store, clock):
    one = evaluator(store)
    for minute in range(5):
        traffic(store, clock.now, seed=minute)
        one.turn(clock.now)
        clock.now += 60
    assert standing(store).verdict.state == "stable"
    began = clock.now
    traffic(store, clock.now, shift=1.0, seed=9)
    one.turn(clock.now)
    found = standing(store)
    assert found.verdict.state == "drift"
    assert found.since == began // 60 * 60
    assert found.total == 6
    told = points(store.entries(SERIES.timeline, 0, 100))
    assert [each.state for each in told][-2:] == ["stable", "drift"]
    assert told[-1].signals["a0"].state == "drift"


def test_only_the_holder_of_the_lease_evaluates_and_another_takes_over_when_it_is_gone(
    store, clock
):
    first, second = evaluator(store, "a"), evaluator(store, "b")
    traffic(store, clock.now)
    first.turn(clock.now)
    version = store.get(SERIES.verdict)[0]
    second.turn(clock.now)
    assert store.get(SERIES.verdict)[0] == version
    clock.now += 6  # the first is silent for longer than its lease
    second.turn(clock.now)
    assert store.get(SERIES.verdict)[0] == version + 1


def test_a_holder_that_was_stopped_writes_nothing_stale_when_it_wakes(store, clock, monkeypatch):
    first, second = evaluator(store, "a"), evaluator(store, "b")
    traffic(store, clock.now)
    read = Evaluator._read

    def stopped(self, now):
        facts = read(self, now)
        if self is first:
            # It is stopped here, holding what it read, for longer than its lease.
            clock.now += 20
            traffic(store, clock.now, seed=3)
            second.turn(clock.now)
        return facts

    monkeypatch.setattr(Evaluator, "_read", stopped)
    first.turn(clock.now)
    found = standing(store)
    assert found.at == int(clock.now)
    assert found.verdict.window_rows == 1_000
    assert len(store.entries(SERIES.timeline, 0, 10)) == 1


def test_resigning_lets_another_evaluate_at_once(store, clock):
    first, second = evaluator(store, "a"), evaluator(store, "b")
    first.turn(clock.now)
    first.resign()
    version = store.get(SERIES.verdict)[0]
    second.turn(clock.now)
    assert store.get(SERIES.verdict)[0] == version + 1


def test_without_news_the_document_is_renewed_only_now_and_then(store, clock):
    one = evaluator(store)
    for _ in range(11):
        one.turn(clock.now)
        clock.now += 1
    assert store.get(SERIES.verdict)[0] == 3


def test_a_takeover_goes_on_from_the_verdict_of_the_one_before(store, clock):
    first, second = evaluator(store, "a"), evaluator(store, "b")
    traffic(store, clock.now, rows=2_000)
    first.turn(clock.now)
    clock.now += 60
    traffic(store, clock.now, rows=2_000, shift=1.0)
    first.turn(clock.now)
    since = standing(store).since
    clock.now += 60
    second.turn(clock.now)
    assert standing(store).verdict.state == "drift"
    assert standing(store).since == since


def test_a_document_of_another_version_is_no_obstacle(store, clock):
    store.put(SERIES.verdict, b'{"written": "by somebody else"}')
    assert decode(store.get(SERIES.verdict)[1]) is None
    evaluator(store).turn(clock.now)
    assert standing(store).verdict.state == "no_data"


def test_a_standing_survives_its_json(store, clock):
    traffic(store, clock.now, shift=0.5)
    evaluator(store).turn(clock.now)
    found = standing(store)
    assert decode(encode(found)) == found
    assert "NaN" not in msgspec.json.encode(found).decode()


def test_old_buckets_are_pruned(store, clock):
    one = evaluator(store)
    traffic(store, clock.now - 3 * 3600)
    traffic(store, clock.now)
    one.turn(clock.now)
    layout = METADATA.reference.layout
    fast = store.read(SERIES.model(60), layout, 0, 2**40)
    slow = store.read(SERIES.model(3600), layout, 0, 2**40)
    assert len(fast) == 1
    assert len(slow) == 2


def test_the_same_counts_stand_the_same_whichever_worker_judges(store, clock):
    from driftline.serving.evaluation.judging import stand

    traffic(store, clock.now, shift=0.2)
    first, second = evaluator(store, "a"), evaluator(store, "b")
    found = [
        stand(
            METADATA,
            SERIES,
            each._read(clock.now),
            thresholds=METADATA.thresholds,
            before=None,
            now=clock.now,
        )
        for each in (first, second)
    ]
    assert encode(found[0]) == encode(found[1])
    assert np.isfinite(found[0].verdict.evidence_log10)


def test_a_part_that_fails_is_told_and_stops_no_other(store, clock, monkeypatch):
    from driftline.serving.evaluation import judging

    def broken(*_, **__):
        raise ValueError("labels that nobody can judge")

    monkeypatch.setattr(judging, "harm_of", broken)
    monkeypatch.setattr(judging, "latency_of", broken)
    caught = []
    one = Evaluator(
        METADATA,
        SERIES,
        store,
        thresholds=METADATA.thresholds,
        holder="a",
        caught=lambda part, error: caught.append((part, type(error))),
    )
    traffic(store, clock.now, shift=1.0)
    one.turn(clock.now)
    assert standing(store).verdict.state == "drift"
    assert caught == [("latency", ValueError), ("harm", ValueError)]


def test_a_clock_that_steps_back_loses_no_entry_and_no_renewal(store, clock):
    one = evaluator(store)
    traffic(store, clock.now)
    one.turn(clock.now)
    clock.now -= 1_800
    one.turn(clock.now)  # nothing is new, and the document would be renewed in half an hour
    assert standing(store).at == int(clock.now)
    for minute in range(3):
        clock.now += 60
        traffic(store, clock.now, seed=minute)
        evaluator(store, "a").turn(clock.now)
    told = points(store.entries(SERIES.timeline, 0, 100))
    assert [each.at - START for each in told] == [0, -1_800, -1_740, -1_680, -1_620]
