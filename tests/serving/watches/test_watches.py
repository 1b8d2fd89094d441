"""What each watch says of what lies in the store, and when it keeps still."""

from __future__ import annotations

import time

import pytest
import served

from driftline.drift.verdict import Effect, SignalVerdict, Verdict
from driftline.metadata.errors import StoreError
from driftline.metadata.thresholds import Thresholds
from driftline.serving.alerts import AlertSettings, SinkSettings, Tolerance
from driftline.serving.alerts.condition import Condition
from driftline.serving.evaluation.desk import Desk
from driftline.serving.evaluation.standing import Service, Standing, encode
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.watches.model import ModelWatch
from driftline.serving.watches.outage import Outage
from driftline.serving.watches.share import too_large

NOW = 1_800_000_000.0
OWN = ("toy", "1")
BASE = "toy/1/" + "a" * 12


def standing(at: float = NOW, **service) -> Standing:
    flag = SignalVerdict(
        name="low_confidence", group="output", kind="flag", state="stable", evidence_log10=0.0,
        effect=Effect(0.0, 0.0, rate=0.01, reference_rate=0.6), severity=None, onset=None,
        reference_size=1000, window_size=100, needed=50, inflation=1.0, sentence="",
    )  # fmt: skip
    verdict = Verdict(
        "stable", 0.0, None, int(NOW) - 600, int(NOW), 1000, 1e-4, False, (flag,), (), ""
    )
    return Standing(
        at=int(at), since=int(at), width=60, verdict=verdict, service=Service(**service)
    )


def watch_over(store: MemoryStore, **changes) -> ModelWatch:
    tolerance = Tolerance(**changes)
    return ModelWatch(store, OWN, tolerance=tolerance, limits=Thresholds())


def said(conditions: list[Condition], kind: str, name: str = "") -> Condition:
    (found,) = [each for each in conditions if (each.kind, each.name) == (kind, name)]
    return found


def of_window(**service) -> list[Condition]:
    store = MemoryStore()
    store.put(f"verdict/{BASE}", encode(standing(**service)))
    return watch_over(store)(NOW)


def test_many_predictions_of_little_confidence_fire():
    """Compared with what was usual under the same limit, whatever another signal was cut at."""
    window = of_window(predictions=1000, low_confidence=0.2, usual_low_confidence=0.02)
    found = said(window, "low_confidence")
    assert found.firing is True
    assert found.sentence_en == (
        "20.0 % of 1,000 predictions are below the confidence limit 0.3; about 2.0 % were on "
        "the reference data, 5.0 % are tolerated."
    )
    assert "20.0 %" in found.sentence_zh
    assert found.since is None, "its window goes back to before anything was wrong"


@pytest.mark.parametrize(
    ("service", "firing"),
    [
        ({"predictions": 1000, "low_confidence": 0.04}, False),
        ({"predictions": 1000, "low_confidence": 0.06}, None),  # may be chance
        ({"predictions": 10, "low_confidence": 1.0}, None),  # too few
        ({"predictions": 0, "low_confidence": None}, None),
    ],
)
def test_confidence_that_is_tolerated_or_uncertain_does_not(service, firing):
    assert said(of_window(**service), "low_confidence").firing is firing


def test_slow_requests_fire():
    found = said(of_window(requests=500, slow=0.3, p95_ms=450.0), "latency")
    assert (found.firing, found.severity) == (True, "minor")
    assert "30.0 % of 500 requests took more than 200 ms" in found.sentence_en


def test_a_model_that_fails_fires():
    found = said(of_window(requests=200, errors=0.25), "health", "failures")
    assert (found.firing, found.severity) == (True, "major")
    assert said(of_window(requests=200, errors=0.0), "health", "failures").firing is False


def test_only_versions_that_are_served_now_are_spoken_of():
    store = MemoryStore()
    store.put(f"verdict/{BASE}", encode(standing()))
    store.put("verdict/toy/0/" + "b" * 12, encode(standing(at=NOW - 600)))
    store.put("verdict/other/1/" + "c" * 12, encode(standing()))
    versions = {(each.model, each.version) for each in watch_over(store)(NOW)}
    assert versions == {OWN}


def test_a_look_that_fails_is_told_and_silences_no_other(monkeypatch):
    """Else a fault in one sentence would stop every alert of the model, that of the fault too."""
    from driftline.serving.watches import window

    def broken(*_):
        raise ZeroDivisionError("a share of nothing")

    monkeypatch.setattr(window, "slow", broken)
    store, caught = MemoryStore(), []
    store.put(f"verdict/{BASE}", encode(standing(requests=200, errors=0.25)))
    watch = ModelWatch(
        store, OWN, tolerance=Tolerance(), limits=Thresholds(),
        caught=lambda place, error: caught.append((place, type(error))),
    )  # fmt: skip
    found = watch(NOW)
    assert said(found, "health", "failures").firing is True
    assert said(found, "drift").firing is False
    assert caught == [("watch", ZeroDivisionError)]


def test_verdicts_that_come_no_more_fire():
    store = MemoryStore()
    store.put(f"verdict/{BASE}", encode(standing()))
    watch = watch_over(store)
    assert said(watch(NOW), "health", "evaluator").firing is False
    assert said(watch(NOW + 20), "health", "evaluator").firing is False
    found = said(watch(NOW + 45), "health", "evaluator")
    assert (found.firing, found.severity, found.since) == (True, "major", NOW)


def test_a_share_is_too_large_only_when_chance_is_ruled_out():
    assert too_large(5, 19, 0.05) is None
    assert too_large(1, 20, 0.05) is False
    assert too_large(3, 20, 0.05) is None
    assert too_large(10, 20, 0.05) is True
    assert too_large(20, 20, 1.0) is False
    assert too_large(20, 20, 0.0) is True


# Outages ------------------------------------------------------------------------------------


def test_an_outage_is_told_when_it_is_over(monkeypatch):
    clock = NOW
    store = MemoryStore(clock=lambda: clock)
    desk = Desk(
        "toy",
        store,
        AlertSettings(sinks=(SinkSettings(name="log", kind="log"),), group_seconds=0),
        holder="one",
        watch=lambda now: [],
        outage=Outage(OWN),
    )
    desk.turn(clock)
    assert desk.alerts.open_alerts() == []

    def away(*_):
        raise StoreError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(store, "acquire", away)
        for second in range(75):
            with pytest.raises(StoreError):
                desk.turn(clock + second)
    clock += 75
    desk.turn(clock)
    (alert,) = desk.alerts.open_alerts()
    assert (alert.kind, alert.name) == ("health", "store")
    assert "could not be reached for 75 s" in alert.sentence.en
    assert alert.since.timestamp() == NOW
    clock += 31
    desk.turn(clock)
    clock += 301
    desk.turn(clock)
    assert desk.alerts.open_alerts() == []
    assert len(desk.alerts.past()) == 1


def test_a_short_absence_of_the_store_is_not_told():
    outage = Outage(OWN)
    outage.missed(NOW)
    outage.missed(NOW + 10)
    assert outage.reached(NOW + 20).firing is False
    assert outage.reached(NOW + 60).firing is False


# The whole way ------------------------------------------------------------------------------


def test_where_it_is_not_known_what_was_usual_the_alert_says_so():
    found = said(of_window(predictions=1000, low_confidence=0.2), "low_confidence")
    assert found.firing is True
    assert "; how many were on the reference data is not known, 5.0 % are" in found.sentence_en
    assert "参考数据上的比例未知" in found.sentence_zh


def test_low_confidence_goes_all_the_way_from_requests_to_an_alert(client_of):
    """Under a limit of the service's own, what is usual is not too much, and more than that is."""
    client = client_of(low_confidence="0.5", alert_group="0s")
    session = client.engine.monitor.session

    def ask(rows):
        for row in rows.tolist():
            client.post("/predict", json={"instances": [row]})
        session.flush()
        session.evaluator.turn(time.time())

    ask(served.rows(100, 3))
    said_ = client.get("/drift").get_json()["confidence"]
    assert said_["low_share"] == pytest.approx(said_["reference_low_share"], abs=0.15)
    assert said_["reference_low_share"] > 0.1
    usual = session.desks[0]._watch(time.time())
    assert said(usual, "low_confidence").firing is False
    unsure = served.rows(300, 4) * 0.001
    ask(unsure)

    def fired():
        told = client.get("/alerts").get_json()
        return [each for each in told["open"] if each["kind"] == "low_confidence"]

    (alert,) = served.until(fired, 20)
    assert "below the confidence limit 0.5" in alert["sentence"]["en"]
