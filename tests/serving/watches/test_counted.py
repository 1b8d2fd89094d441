"""What counters say of the last five minutes, and since when."""

from __future__ import annotations

import pytest

from driftline.metadata.thresholds import Thresholds
from driftline.serving.alerts import Tolerance
from driftline.serving.alerts.condition import Condition
from driftline.serving.evaluation.timeline import Point
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.watches.model import ModelWatch
from driftline.serving.watches.recent import Recent

NOW = 1_800_000_000.0
OWN = ("toy", "1")
BASE = "toy/1/" + "a" * 12


def watch_over(store: MemoryStore) -> ModelWatch:
    """A watch of a process that began at `NOW`."""
    return ModelWatch(store, OWN, tolerance=Tolerance(), limits=Thresholds(), clock=lambda: NOW)


def at(watch: ModelWatch, *seconds: float) -> list[Condition]:
    """What the watch says at the last of these seconds after `NOW`, called at each."""
    return [watch(NOW + each) for each in seconds][-1]


def said(conditions: list[Condition], kind: str, name: str = "") -> Condition:
    (found,) = [each for each in conditions if (each.kind, each.name) == (kind, name)]
    return found


def judged_at(store: MemoryStore, *seconds: float) -> None:
    """The version was judged at these seconds after `NOW`; of the timeline two entries are kept."""
    for each in seconds:
        point = Point(int(NOW + each), "stable", 0.0, None, 0, {})
        store.append(f"timeline/{BASE}", [point.encoded()], keep=2)


def test_requests_that_do_not_fit_fire_once_a_minute_was_seen():
    store, counters = MemoryStore(), {}
    watch = watch_over(store)
    assert said(watch(NOW), "schema").firing is None
    for code, number in ((200, 900), (422, 100), (401, 5000)):
        counters[f"{BASE}|responses|predict.predict|{code}"] = float(number)
    store.add("w", 1, [], counters)
    found = said(watch(NOW + 90), "schema")
    assert found.firing is False  # 100 of 6,000: 401 is an answer, but no misfit
    store.add("w", 2, [], {f"{BASE}|responses|predict.predict|415": 900.0})
    found = said(watch(NOW + 100), "schema")
    assert found.firing is True
    assert found.sentence_en.startswith("14.5 % of 6,900 requests of the last 5 minutes")
    assert said(at(watch, *range(200, 500, 60)), "schema").firing is False


@pytest.mark.parametrize(
    ("counter", "kind", "name"),
    [("unusable|input", "schema", ""), ("monitor|after:ValueError", "health", "monitor")],
)
def test_an_alert_from_counters_began_when_their_growth_was_first_seen(counter, kind, name):
    """Not five minutes ago, and never before the first look; what is older is not counted."""
    store = MemoryStore()
    store.add("old", 1, [], {f"{BASE}|{counter}": 500.0})
    watch = watch_over(store)
    at(watch, 0, 5, 10)
    store.add("w", 1, [], {f"{BASE}|{counter}": 40.0})
    at(watch, 15, 20, 60)
    store.add("w", 2, [], {f"{BASE}|{counter}": 2.0})
    found = said(at(watch, 65), kind, name)
    assert (found.firing, found.since) == (True, NOW + 15)
    assert "42" in found.sentence_en


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        ((1,), "44.7 % of 85 requests"),
        ((-90_000, 1), "0.0 % of 47 requests"),
        ((2, 3, 4), "0.0 % of 47 requests"),  # its begin was forgotten
        ((), "0.0 % of 47 requests"),
    ],
)
def test_the_burst_before_the_first_turn_counts_where_the_version_is_served_for_the_first_time(
    judged, words
):
    """The store counts since ever: of a version that was served before, nobody knows what is old
    at the first look."""
    store = MemoryStore()
    watch = watch_over(store)
    store.add("w", 1, [], {f"{BASE}|responses|predict.predict|422": 38.0})
    judged_at(store, *judged)
    at(watch, 1)
    store.add("w", 2, [], {f"{BASE}|responses|predict.predict|200": 47.0})
    found = said(at(watch, 6, 61), "schema")
    assert found.sentence_en.startswith(f"{words} of the last 5 minutes")
    assert (found.firing, found.since) == ((True, NOW + 6) if "85" in words else (False, None))


def test_a_watch_that_is_taken_over_does_not_tell_of_what_lies_long_back():
    """It looked when it began, an hour ago; another has watched since."""
    store = MemoryStore()
    watch = watch_over(store)
    judged_at(store, 1)
    at(watch, 1)
    store.add("w", 1, [], {f"{BASE}|unusable|input": 500.0})
    assert said(at(watch, 3600), "schema").firing is None
    assert said(at(watch, 3660), "schema").firing is False


def test_failures_of_the_monitor_fire():
    store = MemoryStore()
    watch = watch_over(store)
    watch(NOW)
    store.add("w", 1, [], {f"{BASE}|monitor|after:ValueError": 12.0})
    found = said(watch(NOW + 70), "health", "monitor")
    assert found.firing is True
    assert "12 times in the last 5 minutes (after:ValueError)" in found.sentence_en
    assert said(at(watch, *range(100, 500, 60)), "health", "monitor").firing is False


def test_growth_is_what_was_added_lately():
    recent = Recent()
    assert recent.growth({"a": 100.0}, NOW) is None
    for second in range(5, 60, 5):
        assert recent.growth({"a": 100.0 + second}, NOW + second) is None
    found = recent.growth({"a": 160.0, "b": 3.0}, NOW + 60)
    assert found == {"a": (60.0, NOW + 5), "b": (3.0, NOW + 60)}
    for second in range(65, 605, 5):
        found = recent.growth({"a": 100.0 + second}, NOW + second)
    assert found == {"a": (300.0, NOW + 305)}
    assert recent.growth({"a": 900.0}, NOW - 50) is None  # the clock was set back
