"""Alerts as the service uses them: observe, deliver, ask, acknowledge; on every store."""

from __future__ import annotations

from typing import Any

import pytest

from driftline.metadata.errors import SettingError, UnknownKind
from driftline.serving.alerts import Patience, Route, SinkSettings


def test_told_once_per_episode(kit: Any, store: Any, endpoint: Any) -> None:
    """A thousand breaches through store and webhook: one firing, one resolved, in order."""
    alerts = kit.alerts(store, kit.sink(endpoint.url))
    for second in range(0, 1000, 5):
        alerts.observe([kit.condition()], kit.now + second, None)
        assert alerts.deliver(kit.now + second, None, wait=10)
    for second in range(1000, 1400, 5):
        alerts.observe([kit.condition(False)], kit.now + second, None)
        assert alerts.deliver(kit.now + second, None, wait=10)
    types = [each.json["type"] for each in endpoint.received]
    assert types == ["io.driftline.drift.firing", "io.driftline.drift.resolved"]


def test_nothing_is_written_while_nothing_changes(kit: Any, store: Any) -> None:
    """The book's version stays where it is through a minute of the same news."""
    alerts = kit.alerts(store, kit.sink("http://127.0.0.1:9/"))
    alerts.observe([kit.condition()], kit.now, None)
    before = store.get("alerts/book")
    for second in range(1, 60):
        alerts.observe([kit.condition()], kit.now + second, None)
    assert store.get("alerts/book") == before


def test_open_and_past_are_the_same_for_every_worker(kit: Any, store: Any) -> None:
    holder, other = kit.alerts(store), kit.alerts(store)
    holder.observe([kit.condition(), kit.condition(kind="latency")], kit.now, None)
    assert other.open_alerts() == holder.open_alerts()
    assert {each.kind for each in other.open_alerts()} == {"drift", "latency"}
    for second in (1, 301):
        holder.observe(
            [kit.condition(False), kit.condition(kind="latency")], kit.now + second, None
        )
    assert [each.kind for each in other.open_alerts()] == ["latency"]
    (past,) = other.past()
    assert (past.kind, past.state) == ("drift", "resolved")


def test_any_worker_acknowledges_and_all_see_it_at_once(kit: Any, store: Any) -> None:
    """Before the holder has entered it in the book, and after; the first one counts."""
    holder, other = kit.alerts(store), kit.alerts(store)
    holder.observe([kit.condition()], kit.now, None)
    (alert,) = holder.open_alerts()
    taken = other.acknowledge(alert.id, "ada", kit.now + 1)
    assert taken is not None
    assert taken.acknowledged.by == "ada"
    assert holder.open_alerts() == [taken]
    holder.observe([kit.condition()], kit.now + 2, None)
    assert other.open_alerts() == [taken]
    assert other.acknowledge(alert.id, "bob", kit.now + 3) == taken
    assert other.acknowledge("drift-unknown", "bob", kit.now + 3) is None


def test_a_lost_lease_changes_nothing(kit: Any, store: Any, endpoint: Any) -> None:
    """The old holder neither writes nor sends after another has taken over."""
    old = store.acquire("evaluator", "old", 0.0)
    new = store.acquire("evaluator", "new", 60.0)
    assert new is not None
    alerts = kit.alerts(store, kit.sink(endpoint.url))
    alerts.observe([kit.condition()], kit.now, old)
    assert alerts.open_alerts() == []
    alerts.observe([kit.condition()], kit.now, new)
    assert len(alerts.open_alerts()) == 1
    assert alerts.deliver(kit.now, old, wait=10)
    assert endpoint.received == []
    assert alerts.deliver(kit.now, new, wait=10)
    assert len(endpoint.received) == 1


def test_restart_goes_on_where_it_stopped(kit: Any, store: Any, endpoint: Any) -> None:
    """Each call by a new object, as after a restart."""

    def alerts() -> Any:
        return kit.alerts(store, kit.sink(endpoint.url))

    for second, firing in [(0, True), (1, True), (2, False), (302, False), (303, True)]:
        alerts().observe([kit.condition(firing)], kit.now + second, None)
        alerts().deliver(kit.now + second, None, wait=10)
        alerts().deliver(kit.now + second, None, wait=10)
    states = [each.json["type"].rsplit(".", 1)[1] for each in endpoint.received]
    assert states == ["firing", "resolved", "firing"]


def test_dead_letters_are_seen_and_hold_up_nobody(kit: Any, store: Any, endpoint: Any) -> None:
    """Refused at once, or tried in vain for long; the next message of the alert still goes out."""
    alerts = kit.alerts(
        store, kit.sink(endpoint.url), patience=Patience(first=1, longest=10, attempts=4)
    )
    endpoint.script.extend([kit.Answer(400)])
    alerts.observe([kit.condition()], kit.now, None)
    alerts.deliver(kit.now, None, wait=10)
    (letter,) = alerts.dead_letters()
    assert (letter.message.state, letter.reason, letter.attempts) == ("firing", "HTTP 400", 1)
    endpoint.usual = kit.Answer(500)
    for second in (1, 301):
        alerts.observe([kit.condition(False)], kit.now + second, None)
    for second in range(301, 361, 10):
        alerts.deliver(kit.now + second, None, wait=10)
    assert [each.message.state for each in alerts.dead_letters()] == ["resolved", "firing"]
    (health,) = alerts.health()
    assert health.dead == 2
    assert health.waiting == 0
    assert health.totals == {"refused": 1, "retried": 4, "dead": 1}
    assert health.problem == "HTTP 500"
    assert len(endpoint.received) == 5


def test_sinks_are_checked_when_opened(kit: Any, store: Any) -> None:
    twice = [SinkSettings(name="a", kind="log")] * 2
    with pytest.raises(SettingError, match="name of its own"):
        kit.alerts(store, *twice)
    for name in ("", "a b", "告警", "a\r\nX-Evil: 1", "a" * 65):
        with pytest.raises(SettingError, match="plain name"):
            kit.alerts(store, SinkSettings(name=name, kind="log"))
    with pytest.raises(UnknownKind, match="carrier_pigeon"):
        kit.alerts(store, SinkSettings(name="a", kind="carrier_pigeon"))
    with pytest.raises(SettingError, match=r"sinks\.a\.url"):
        kit.alerts(store, SinkSettings(name="a", kind="cloudevents"))


def test_routes_choose_the_sink(kit: Any, store: Any, endpoint: Any, second_endpoint: Any) -> None:
    alerts = kit.alerts(
        store,
        kit.sink(endpoint.url, name="all"),
        kit.sink(second_endpoint.url, name="pager", route=Route(severity="major")),
    )
    conditions = [
        kit.condition(severity="minor", kind="latency"),
        kit.condition(severity="major", kind="drift"),
    ]
    alerts.observe(conditions, kit.now, None)
    assert alerts.deliver(kit.now, None, wait=10)
    assert len(endpoint.received) == 2
    (request,) = second_endpoint.received
    assert request.json["type"] == "io.driftline.drift.firing"
    assert request.json["id"].endswith(".pager")


def test_settings_print_no_secret(kit: Any) -> None:
    settings = kit.sink("https://hook.example/robot?token=abc123")
    assert "abc123" not in repr(settings)
    assert "hook.example" not in repr(settings)
