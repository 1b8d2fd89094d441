"""The outbox's finer points: order, backoff, limits, and what happens when things pile up."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from driftline.serving.alerts import Limit, Patience, ledger
from driftline.serving.alerts.courier import outbox
from driftline.serving.alerts.patience import allowed_at, kept
from driftline.serving.stores.memory import MemoryStore


def test_backoff_doubles_up_to_a_bound_with_jitter() -> None:
    """Within a half and the whole of the doubled pause; the same seed gives the same pauses."""
    patience = Patience(first=1.0, longest=60.0)
    pauses = [patience.delay(n, random.Random(n)) for n in range(1, 100)]
    for n, pause in enumerate(pauses):
        bound = min(2.0**n, 60.0)
        assert bound / 2 <= pause <= bound
    assert len(set(pauses)) == len(pauses)
    assert pauses[0] == patience.delay(1, random.Random(1))


def test_a_message_is_given_up_by_tries_or_by_days() -> None:
    patience = Patience(days=3, attempts=10)
    assert not patience.is_over(9, 0.0, 3 * 86400 - 1)
    assert patience.is_over(10, 0.0, 1)
    assert patience.is_over(1, 0.0, 3 * 86400)


def test_limits_over_several_windows() -> None:
    limits = (Limit(2, 1.0), Limit(3, 60.0))
    assert allowed_at((), limits, 10.0) == 10.0
    assert allowed_at((9.5, 9.7), limits, 10.0) == 10.5
    assert allowed_at((1.0, 9.5, 9.7), limits, 10.0) == 61.0
    assert kept((1.0, 20.0, 70.0), limits, 75.0) == (20.0, 70.0)
    assert kept((1.0, 2.0), (), 75.0) == ()
    # A clock that was set back by a day blocks for one window, not for the day.
    assert allowed_at((86400.0, 86400.5), (Limit(2, 60.0),), 10.0) == 70.0


def test_a_sink_that_is_down_is_tried_less_and_less(kit: Any, endpoint: Any) -> None:
    """Also with many alerts waiting: it is one sink that rests, not each message by itself."""
    endpoint.usual = kit.Answer(503)
    alerts = kit.alerts(MemoryStore(), kit.sink(endpoint.url))
    many = [kit.condition(kind="training", name=str(i)) for i in range(30)]
    alerts.observe(many, kit.now, None)
    times: list[int] = []
    for second in range(1800):
        before = len(endpoint.received)
        alerts.deliver(kit.now + second, None, wait=20)
        times += [second] * (len(endpoint.received) - before)
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert 12 <= len(times) <= 24
    assert alerts.health()[0].waiting == 30
    assert pauses[-1] >= 150
    endpoint.usual = kit.Answer(200)
    endpoint.received.clear()
    for second in range(1800, 2200):
        alerts.deliver(kit.now + second, None, wait=20)
    assert len(endpoint.received) == 30
    assert alerts.health()[0].failures == 0


def test_one_indigestible_message_holds_up_only_its_own_condition(kit: Any, endpoint: Any) -> None:
    """Its receiver fails on it with 500 for ever; the other 239 pass, its own end waits."""
    poison = b"poisoned"

    def answer() -> None:
        is_poison = poison in endpoint.received[-1].body
        endpoint.usual = kit.Answer(500 if is_poison else 200)

    endpoint.before_answer = answer
    alerts = kit.alerts(MemoryStore(), kit.sink(endpoint.url))
    first = kit.condition(kind="training", name="a", sentence_en="poisoned")
    others = [kit.condition(kind="training", name=f"b{i:03}") for i in range(239)]
    alerts.observe([first, *others], kit.now, None)
    for second in (1, 302):
        calm = kit.condition(False, kind="training", name="a")
        alerts.observe([calm, *others], kit.now + second, None)
    for second in range(302, 402):
        alerts.deliver(kit.now + second, None, wait=20)
    passed = [each for each in endpoint.received if poison not in each.body]
    assert len(passed) == 239
    assert alerts.health()[0].totals["delivered"] == 239
    # Given up after three days, its end follows.
    endpoint.before_answer = None
    endpoint.usual = kit.Answer(500)
    alerts.deliver(kit.now + 4 * 86400, None, wait=20)
    endpoint.usual = kit.Answer(200)
    alerts.deliver(kit.now + 4 * 86400 + 600, None, wait=20)
    (letter,) = alerts.dead_letters()
    assert letter.message.state == "firing"
    assert endpoint.received[-1].json["type"] == "io.driftline.training.resolved"


def test_an_old_end_never_follows_a_new_begin(kit: Any, endpoint: Any) -> None:
    """Order is kept across the episodes of a condition: else the old end would look like the
    end of the new one."""
    alerts = kit.alerts(MemoryStore(), kit.sink(endpoint.url), quiet_seconds=10.0)
    endpoint.script.extend([kit.Answer(200), kit.Answer(500), kit.Answer(500)])
    for second, firing in ((0, True), (1, False), (11, False), (12, True), (13, True)):
        alerts.observe([kit.condition(firing)], kit.now + second, None)
        alerts.deliver(kit.now + second, None, wait=20)
    for second in range(14, 30):
        alerts.deliver(kit.now + second, None, wait=20)
    told = [each.json["type"].rsplit(".", 1)[1] for each in endpoint.received]
    assert told == ["firing", "resolved", "resolved", "resolved", "firing"]


def test_what_the_log_drops_is_counted(
    kit: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More waiting than the outbox keeps: the oldest are lost, and health says so."""
    monkeypatch.setattr(ledger, "MESSAGES_KEPT", 5)
    alerts = kit.alerts(MemoryStore(), kit.sink(endpoint.url))
    many = [kit.condition(kind="training", name=str(i)) for i in range(8)]
    alerts.observe(many, kit.now, None)
    alerts.deliver(kit.now, None, wait=20)
    assert len(endpoint.received) == 5
    assert alerts.health()[0].lost == 3


def test_a_clock_that_was_set_back_holds_nothing_back(kit: Any, endpoint: Any) -> None:
    """An alert was opened, and its sink told to rest, a day ahead of what is the time now."""
    alerts = kit.alerts(
        MemoryStore(), kit.sink(endpoint.url), group_seconds=60.0, quiet_seconds=10.0
    )
    ahead = kit.now + 86400
    endpoint.script.append(kit.Answer(500))
    first, second = kit.condition(), kit.condition(kind="latency")
    alerts.observe([first], ahead - 60, None)
    alerts.observe([first, second], ahead, None)
    alerts.deliver(ahead, None, wait=20)
    alerts.observe([first, second], kit.now, None)
    alerts.deliver(kit.now, None, wait=20)
    told = [each.json["type"].split(".", 2)[2] for each in endpoint.received]
    assert told == ["drift.firing", "latency.firing", "drift.firing"]
    for seconds in (1, 11):
        calm = [kit.condition(False), kit.condition(False, kind="latency")]
        alerts.observe(calm, kit.now + seconds, None)
        alerts.deliver(kit.now + seconds, None, wait=20)
    assert len(endpoint.received) == 5
    assert alerts.open_alerts() == []


def test_an_entry_that_is_no_message_is_passed_over(kit: Any, endpoint: Any) -> None:
    store = MemoryStore()
    store.append(outbox("hook"), [b"{", b'{"key":1}'], keep=100)
    alerts = kit.alerts(store, kit.sink(endpoint.url))
    alerts.observe([kit.condition()], kit.now, None)
    alerts.deliver(kit.now, None, wait=20)
    alerts.deliver(kit.now + 1, None, wait=20)
    assert len(endpoint.received) == 1
    assert alerts.health()[0].lost == 2


def test_alertmanager_hears_of_a_firing_alert_each_minute_until_its_end(
    kit: Any, endpoint: Any
) -> None:
    """Through failures too; a repetition that fails is no dead letter and counts as nothing."""
    alerts = kit.alerts(MemoryStore(), kit.sink(endpoint.url, kind="alertmanager"))
    for second in range(0, 600, 5):
        alerts.observe([kit.condition(second < 290)], kit.now + second, None)
        endpoint.usual = kit.Answer(503 if 100 < second < 130 else 200)
        alerts.deliver(kit.now + second, None, wait=20)
    ends = [
        each.json[0]["annotations"]["summary"].startswith("[resolved]")
        for each in endpoint.received
    ]
    assert ends == [False] * 10 + [True]
    assert len({str(each.json[0]["labels"]) for each in endpoint.received}) == 1
    assert alerts.health()[0].totals == {"delivered": 2}


@pytest.mark.parametrize("how", ["refused", "given up"])
def test_a_begin_whose_end_is_never_taken_is_not_repeated_for_ever(
    kit: Any, endpoint: Any, how: str
) -> None:
    """Alertmanager refuses the end, or it is given up: it may then let the alert run out."""
    patience = Patience(first=1.0, attempts=1)
    settings = kit.sink(endpoint.url, kind="alertmanager")
    alerts = kit.alerts(MemoryStore(), settings, quiet_seconds=10.0, patience=patience)
    for second, firing in ((0, True), (1, False), (11, False)):
        alerts.observe([kit.condition(firing)], kit.now + second, None)
        endpoint.usual = kit.Answer(200 if second < 11 else 400 if how == "refused" else 503)
        alerts.deliver(kit.now + second, None, wait=20)
    assert alerts.open_alerts() == []
    assert [each.message.state for each in alerts.dead_letters()] == ["resolved"]
    endpoint.received.clear()
    endpoint.usual = kit.Answer(200)
    for second in range(20, 620, 20):
        alerts.deliver(kit.now + second, None, wait=20)
    assert endpoint.received == []
