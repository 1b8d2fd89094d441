"""`/drift` and its neighbours, built of what lies in the store."""

from __future__ import annotations

import time

import pytest
import served

from driftline.metadata.errors import StoreError


def send(client, count: int, shift: float = 0.0, seed: int = 0, batch: int = 50) -> None:
    for start in range(0, count, batch):
        rows = served.rows(batch, seed + start, shift=shift)
        answer = client.post("/predict", json={"instances": rows.tolist()})
        assert answer.status_code == 200


def evaluated(client):
    """`/drift` after all that was sent is counted and judged."""
    session = client.engine.monitor.session
    session.flush()
    session.evaluator.turn(time.time())
    return client.get("/drift").get_json()


def test_before_any_request_it_says_that_there_is_no_data(client):
    told = client.get("/drift").get_json()
    assert told["state"] == "no_data"
    assert told["window"]["requests"] == 0
    assert (told["since"], told["evaluated"], told["evidence"]) == (None, None, None)


def test_what_has_no_data_has_no_evidence(client):
    """Null wherever evidence is told, and not the least that a verdict holds it to be."""
    evaluated(client)
    told = client.get("/drift").get_json()
    assert told["evaluated"]
    assert {each["evidence"] for each in told["signals"] + told["multivariates"]} == {None}
    assert told["evidence"] is None
    point = client.get("/drift/timeline").get_json()["points"][-1]
    assert {point["evidence"], *(each["evidence"] for each in point["signals"].values())} == {None}
    assert client.get("/drift/signals/a0").get_json()["timeline"][-1]["evidence"] is None
    send(client, 100)
    told = evaluated(client)
    assert isinstance(told["evidence"], float)


def test_clean_traffic_is_stable_and_a_shift_is_drift_with_names_sizes_and_sentences(client):
    send(client, 2_000)
    told = evaluated(client)
    assert told["state"] == "stable", told["sentence"]
    assert told["window"]["requests"] == 40
    assert told["window"]["rows"] == 2_000
    assert told["confidence"]["predictions"] == 2_000
    assert told["latency"]["p50_ms"] > 0
    assert told["latency"]["baseline"]["p50_ms"] == 1.0
    assert told["latency"]["p50_ratio"] == pytest.approx(told["latency"]["p50_ms"])
    assert told["health"] == {"store": "ok", "evaluator": "ok", "alerts": "ok", "dropped": {}}
    send(client, 500, shift=1.5, seed=77)
    told = evaluated(client)
    assert told["state"] == "drift"
    assert told["since"].endswith("Z")
    changed = {each["name"] for each in told["signals"] if each["state"] in ("drift", "warning")}
    assert {"a0", "a1", "a2"} <= changed
    many = next(each for each in told["multivariates"] if each["group"] == "input")
    assert (many["name"], many["state"]) == ("input together", "drift")
    assert many["distance"] > 0.3
    assert {"a0", "a1", "a2"} == many["moved"].keys()
    a0 = next(each for each in told["signals"] if each["name"] == "a0")
    assert {
        "name",
        "group",
        "state",
        "evidence",
        "effect",
        "onset",
        "reference_size",
        "window_size",
        "sentence",
    } <= a0.keys()
    assert {"psi", "js", "w1_sd", "mean_shift_sd", "missing_change"} <= a0["effect"].keys()
    assert a0["sentence"].startswith("a0")


def test_signals_are_chosen_by_name_and_group(client):
    send(client, 100)
    evaluated(client)
    (only,) = client.get("/drift?signal=a1").get_json()["signals"]
    assert only["name"] == "a1"
    groups = {each["group"] for each in client.get("/drift?group=output").get_json()["signals"]}
    assert groups == {"output"}
    assert client.get("/drift?signal=nobody").status_code == 404
    answer = client.get("/drift?group=nowhere")
    assert answer.status_code == 422
    assert answer.get_json()["error"]["field"] == "group"


def test_an_answer_that_the_client_has_is_not_sent_again(client):
    send(client, 100)
    evaluated(client)
    client.engine.monitor.session._judge.stop()
    first = client.get("/drift")
    again = client.get("/drift", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    other = client.get("/drift?signal=a1", headers={"If-None-Match": first.headers["ETag"]})
    assert other.status_code == 200


def test_one_signal_in_detail(client):
    send(client, 500)
    evaluated(client)
    told = client.get("/drift/signals/a0").get_json()
    cells = told["cells"]
    assert len(cells["edges"]) + 1 == len(cells["reference"]) == len(cells["window"])
    assert sum(cells["reference"]) == pytest.approx(1)
    assert sum(cells["window"]) == pytest.approx(1)
    assert sum(cells["counts"]) == 500
    assert told["moments"]["window"]["count"] == 500
    assert told["moments"]["window"]["mean"] == pytest.approx(0, abs=0.2)
    assert sum(sum(each["counts"]) for each in told["buckets"]) == 500
    assert told["timeline"][-1]["state"] == told["verdict"]["state"]
    assert client.get("/drift/signals/a0:missing").get_json()["kind"] == "flag"
    assert client.get("/drift/signals/size").get_json()["cells"]["values"] == [0, 1, 2]
    assert client.get("/drift/signals/nobody").status_code == 404


def test_the_timeline_goes_on_from_where_it_was_read(client):
    send(client, 100)
    evaluated(client)
    told = client.get("/drift/timeline").get_json()
    assert told["points"][-1]["signals"]["a0"].keys() == {"state", "evidence", "psi"}
    after = client.get(f"/drift/timeline?after={told['next']}").get_json()
    assert after == {"points": [], "next": told["next"]}
    for query in ("after=x", "after=-1", "limit=100000", "after=" + "9" * 30):
        assert client.get(f"/drift/timeline?{query}").status_code == 422


def test_while_the_store_is_away_the_last_answer_is_told_as_the_last(client, monkeypatch):
    send(client, 100)
    before = evaluated(client)
    session = client.engine.monitor.session

    def away(*_, **__):
        raise StoreError("the disk is gone")

    for name in ("get", "add", "ping", "acquire", "entries"):
        monkeypatch.setattr(session.store, name, away)
    told = client.get("/drift").get_json()
    assert told["health"]["store"] == "the disk is gone"
    assert told["window"] == before["window"]
    assert client.get("/drift/timeline").status_code == 503
    assert client.get("/drift/timeline").get_json()["error"]["code"] == "state_unavailable"
    session.flush()
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.get_json()["degraded"] == ["store: the disk is gone"]
    send(client, 50)
    monkeypatch.undo()
    assert evaluated(client)["window"]["rows"] == 150
    assert client.get("/readyz").get_json()["degraded"] == []


def test_an_evaluator_that_is_gone_is_told(client, monkeypatch):
    send(client, 50)
    evaluated(client)
    client.engine.monitor.session._judge.stop()
    now = time.time()
    monkeypatch.setattr("driftline.serving.api.drift.time.time", lambda: now + 60)
    assert "last evaluated at" in client.get("/drift").get_json()["health"]["evaluator"]


def test_what_the_monitor_could_not_count_is_told(client):
    session = client.engine.monitor.session
    session.append(client.engine.monitor.before({"nobody": served.rows(1, 1)}))
    assert evaluated(client)["health"]["dropped"] == {"unusable|input": 1}
