"""Episodes: one begin and one end each, whatever the conditions do."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.serving.alerts.alert import Acknowledgement, moment
from driftline.serving.alerts.announce import announce
from driftline.serving.alerts.episodes import ABSENT_SECONDS, Acknowledged, acknowledge, advance
from driftline.serving.alerts.routes import Route

QUIET = 300.0
ALL = {"hook": Route()}


class Run:
    """Plays conditions through the two pure functions and keeps the messages."""

    def __init__(self, routes: Any = None, group: float = 0.0) -> None:
        self.open: Any = {}
        self.messages: list[Any] = []
        self.routes = ALL if routes is None else routes
        self.group = group

    def see(self, now: float, *conditions: Any) -> None:
        episodes, ended = advance(self.open, conditions, now, QUIET)
        self.open, new = announce(episodes, ended, self.routes, now, self.group)
        self.messages += new

    @property
    def states(self) -> list[str]:
        return [each.state for each in self.messages]


def test_a_thousand_breaches_are_one_firing_and_one_resolved(kit: Any) -> None:
    run = Run()
    for second in range(1000):
        run.see(kit.now + second, kit.condition())
    assert run.states == ["firing"]
    for second in range(1000, 2000):
        run.see(kit.now + second, kit.condition(False))
    assert run.states == ["firing", "resolved"]
    first, last = run.messages
    assert first.alert.id == last.alert.id
    assert first.key != last.key
    assert last.alert.until == moment(kit.now + 1000)
    assert last.at == moment(kit.now + 1300)
    assert not run.open


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    flaps=st.lists(
        st.tuples(st.floats(0.1, 400), st.sampled_from([True, False, None])), max_size=60
    )
)
def test_flapping_is_bounded_by_the_quiet_period(
    kit: Any, flaps: list[tuple[float, bool | None]]
) -> None:
    """However it flaps: firing and resolved alternate, and two ends lie a quiet period apart."""
    run, now = Run(), kit.now
    for pause, firing in flaps:
        now += pause
        run.see(now, kit.condition(firing))
    assert run.states == (["firing", "resolved"] * len(run.states))[: len(run.states)]
    ends = [each.at.timestamp() for each in run.messages if each.state == "resolved"]
    assert all(later - earlier >= QUIET - 0.01 for earlier, later in pairwise(ends))
    assert len({each.key for each in run.messages}) == len(run.messages)


def test_what_cannot_be_said_ends_nothing(kit: Any) -> None:
    """No data is no all-clear, however long it lasts."""
    run = Run()
    run.see(kit.now, kit.condition())
    for hour in range(1, 100):
        run.see(kit.now + hour * 3600, kit.condition(None))
    assert run.states == ["firing"]


def test_a_condition_nobody_speaks_of_ends_after_an_hour_and_says_so(kit: Any) -> None:
    """A restart that leaves conditions out for a moment ends nothing."""
    run = Run()
    run.see(kit.now, kit.condition())
    run.see(kit.now + 10)
    run.see(kit.now + 20, kit.condition())
    run.see(kit.now + 30)
    run.see(kit.now + 29 + ABSENT_SECONDS)
    assert run.states == ["firing"]
    run.see(kit.now + 30 + ABSENT_SECONDS)
    assert run.states == ["firing", "resolved"]
    assert run.messages[1].alert.sentence.en.startswith("No longer watched.")


def test_fifty_signals_in_one_minute_are_one_message_with_the_ten_worst(kit: Any) -> None:
    """They come one by one within the group wait; the message is sent when all are known."""
    run = Run(group=30.0)
    signals = [kit.signal(f"s{i:02}", psi=i / 100) for i in range(50)]
    for second in range(31):
        seen = signals if second >= 25 else signals[: 2 * second + 1]
        run.see(kit.now + second, kit.condition(signals=tuple(seen)))
    (message,) = run.messages
    assert [each.name for each in message.alert.signals] == [f"s{i:02}" for i in range(49, 39, -1)]
    assert message.alert.signal_count == 50
    assert message.at == moment(kit.now + 30)


def test_severity_orders_the_worst_before_effect(kit: Any) -> None:
    run = Run()
    signals = (
        kit.signal("small", severity="minor", psi=9.0),
        kit.signal("big", severity="major", psi=0.3),
        kit.signal("surer", severity="major", psi=0.3, evidence_log10=9.0),
    )
    run.see(kit.now, kit.condition(signals=signals))
    assert [each.name for each in run.messages[0].alert.signals] == ["surer", "big", "small"]


def test_an_alert_that_clears_within_the_group_wait_is_told_all_the_same(kit: Any) -> None:
    run = Run(group=500.0)
    run.see(kit.now, kit.condition())
    run.see(kit.now + 1, kit.condition(False))
    run.see(kit.now + 301, kit.condition(False))
    assert run.states == ["firing", "resolved"]
    firing, resolved = run.messages
    assert firing.alert.state == "firing"
    assert firing.alert.until is None
    assert resolved.alert.until == moment(kit.now + 1)


def test_a_worse_alert_reaches_the_route_that_wants_it_once(kit: Any) -> None:
    """And a sink that never heard of an alert does not hear of its end."""
    run = Run({"log": Route(), "pager": Route(severity="major"), "other": Route(models=("x",))})
    run.see(kit.now, kit.condition(severity="minor"))
    run.see(kit.now + 1, kit.condition(severity="major"))
    run.see(kit.now + 2, kit.condition(severity="minor"))
    run.see(kit.now + 3, kit.condition(False))
    run.see(kit.now + 303, kit.condition(False))
    told = [(each.sink, each.state, each.severity) for each in run.messages]
    assert told == [
        ("log", "firing", "minor"),
        ("log", "firing", "major"),
        ("pager", "firing", "major"),
        ("log", "resolved", "major"),
        ("pager", "resolved", "major"),
    ]
    assert [each.before for each in run.messages] == [None, "minor", None, None, None]


def test_each_severity_that_an_alert_grows_to_is_told_once(kit: Any) -> None:
    """Under the same id and a key of its own; going back and forth is no news."""
    run = Run()
    for second, severity in enumerate(
        ("minor", "minor", "moderate", "minor", "moderate", "major", "moderate", "major")
    ):
        run.see(kit.now + second, kit.condition(severity=severity))
    told = [(each.state, each.severity, each.before) for each in run.messages]
    assert told == [
        ("firing", "minor", None),
        ("firing", "moderate", "minor"),
        ("firing", "major", "moderate"),
    ]
    assert len({each.alert.id for each in run.messages}) == 1
    assert len({each.key for each in run.messages}) == 3


def test_what_grows_worse_within_the_group_wait_is_one_message(kit: Any) -> None:
    run = Run(group=10.0)
    run.see(kit.now, kit.condition(severity="minor"))
    run.see(kit.now + 5, kit.condition(severity="major"))
    run.see(kit.now + 10, kit.condition(severity="major"))
    assert [(each.severity, each.before) for each in run.messages] == [("major", None)]


def test_a_sink_that_is_added_hears_of_open_alerts(kit: Any) -> None:
    run = Run({})
    run.see(kit.now, kit.condition())
    assert run.messages == []
    run.routes = ALL
    run.see(kit.now + 1, kit.condition())
    assert run.states == ["firing"]


def test_episodes_of_one_condition_have_different_ids(kit: Any) -> None:
    run = Run()
    for start in (0, 1000):
        run.see(kit.now + start, kit.condition())
        run.see(kit.now + start + 1, kit.condition(False))
        run.see(kit.now + start + 301, kit.condition(False))
    assert run.states == ["firing", "resolved"] * 2
    assert len({each.alert.id for each in run.messages}) == 2


def test_conditions_are_apart_by_kind_model_version_and_name(kit: Any) -> None:
    """Slashes in names do not run into each other."""
    run = Run()
    run.see(
        kit.now,
        kit.condition(),
        kit.condition(kind="latency"),
        kit.condition(model="digits/1", version=""),
        kit.condition(version="2"),
        kit.condition(kind="training", name="loss"),
        kit.condition(kind="training", name="nan"),
        kit.condition(firing=False),  # the same as the first, and does not undo it
    )
    assert len({each.alert.id for each in run.messages}) == 6


def test_figures_are_renewed_each_minute_and_at_once_when_it_gets_worse(kit: Any) -> None:
    """Else an alert that fires would be written to the store each second."""
    run = Run()
    run.see(kit.now, kit.condition(severity="minor", sentence_en="0"))
    before = run.open
    run.see(kit.now + 59, kit.condition(severity="minor", sentence_en="59"))
    assert run.open == before
    run.see(kit.now + 60, kit.condition(severity="minor", sentence_en="60"))
    (episode,) = run.open.values()
    assert episode.alert.sentence.en == "60"
    run.see(kit.now + 61, kit.condition(severity="major", sentence_en="61"))
    (episode,) = run.open.values()
    assert (episode.alert.sentence.en, episode.alert.severity) == ("61", "major")


def test_the_first_acknowledgement_counts(kit: Any) -> None:
    run = Run()
    run.see(kit.now, kit.condition())
    (alert_id,) = [each.alert.id for each in run.open.values()]
    words = [
        Acknowledged(alert_id, Acknowledgement("ada", moment(kit.now + 1))),
        Acknowledged(alert_id, Acknowledgement("bob", moment(kit.now + 2))),
        Acknowledged("unknown", Acknowledgement("eve", moment(kit.now + 3))),
    ]
    run.open = acknowledge(run.open, words)
    run.open = acknowledge(run.open, words[1:])
    run.see(kit.now + 4, kit.condition(False))
    run.see(kit.now + 304, kit.condition(False))
    assert run.messages[-1].alert.acknowledged == Acknowledgement("ada", moment(kit.now + 1))


def test_routes_look_at_all_groups_of_an_alert(kit: Any) -> None:
    """Also at those of signals that are not among the ten worst; an alert of none passes."""
    run = Run({"outputs": Route(groups=("output",)), "drift": Route(kinds=("drift",))})
    many = [kit.signal(f"i{i}") for i in range(12)]
    few = kit.signal("o", group="output", severity="minor")
    run.see(kit.now, kit.condition(signals=tuple(many)))
    run.see(kit.now + 1, kit.condition(signals=(*many, few)))
    run.see(
        kit.now + 2, kit.condition(signals=(*many, few)), kit.condition(kind="health", signals=())
    )
    told = [(each.sink, each.alert.kind) for each in run.messages]
    assert told == [("drift", "drift"), ("outputs", "drift"), ("outputs", "health")]


def test_time_in_which_nothing_could_be_said_is_no_time_of_quiet(kit: Any) -> None:
    """Clear for a second and then unknown, or not spoken of, proves no quiet period; what is seen
    clear on both sides of it adds up to one."""
    for unseen in ([kit.condition(None)], []):
        run = Run()
        run.see(kit.now, kit.condition())
        run.see(kit.now + 1, kit.condition(False))
        for second in range(2, 1000):
            run.see(kit.now + second, *unseen)
        run.see(kit.now + 1000, kit.condition(False))
        assert run.states == ["firing"]
        run.see(kit.now + 1298, kit.condition(False))
        assert run.states == ["firing"]
        run.see(kit.now + 1300, kit.condition(False))
        assert run.states == ["firing", "resolved"]
