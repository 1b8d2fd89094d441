"""`/metrics`: the totals of the store, the same from every worker, bounded, there in bad times."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest
import served
from scraping import evaluated, scraped, send

from driftline.metadata.errors import StoreError
from driftline.serving.board import BoardSettings, create_board
from driftline.serving.metrics.histogram import CONFIDENCE


def test_requests_are_told_by_code_with_their_seconds_and_confidence(client):
    send(client, 30)
    client.post("/predict", json={"instances": "nonsense"})
    client.get("/drift")
    found = evaluated(client)
    assert found["driftline_requests_total", "200"] == 30
    assert found["driftline_requests_total", "422"] == 1
    assert found["driftline_request_seconds_count",] == 31
    assert found["driftline_inference_seconds_count",] == 30
    assert 0 < found["driftline_inference_seconds_sum",] < found["driftline_request_seconds_sum",]
    assert found["driftline_confidence_count",] == 30
    assert found["driftline_monitor_seconds_count",] == 30
    assert found["driftline_monitor_seconds_sum",] > 0
    assert found["driftline_store_up",] == 1


def test_the_confidence_histogram_agrees_with_the_answers(client):
    rows = served.rows(200, 6)
    answer = client.post("/predict", json={"instances": rows.tolist()}).get_json()
    tops = np.array([each["confidence"] for each in answer["predictions"]])
    found = evaluated(client)
    for bound in CONFIDENCE.bounds:
        assert found["driftline_confidence_bucket", str(bound)] == (tops <= bound).sum()
    assert found["driftline_confidence_sum",] == pytest.approx(tops.sum())


def test_low_confidence_is_counted_under_the_limit(client_of):
    client = client_of(low_confidence="0.5")
    rows = served.rows(200, 6)
    answer = client.post("/predict", json={"instances": rows.tolist()}).get_json()
    low = sum(each["confidence"] < 0.5 for each in answer["predictions"])
    assert evaluated(client)["driftline_low_confidence_total",] == low > 0


def test_verdicts_are_gauges(client):
    send(client, 60)
    found = evaluated(client)
    assert found["driftline_model_state",] in (-1, 0)
    assert found["driftline_window_requests",] == 60
    for row in served.rows(400, 7, shift=2.0).tolist():
        client.post("/predict", json={"instances": [row]})
    found = evaluated(client)
    assert found["driftline_model_state",] == 2
    assert found["driftline_drift_state", "a0"] == 2
    assert found["driftline_evidence_log10",] > found["driftline_evidence_needed_log10",]
    assert found["driftline_drift_psi", "a0"] > 0.1
    assert time.time() - found["driftline_evaluated_timestamp_seconds",] < 10
    assert found["driftline_packaged_latency_p95_seconds",] == 0.002


def test_what_could_not_be_counted_is_told_by_kind(client):
    session = client.engine.monitor.session
    session.append(client.engine.monitor.before({"nobody": served.rows(1, 1)}))
    client.engine.monitor.fence.caught("here", ValueError("planted"))
    found = evaluated(client)
    assert found["driftline_dropped_total", "input"] == 1
    assert found["driftline_dropped_total", "output"] == 0
    assert found["driftline_dropped_total", "monitor here:ValueError"] == 1
    assert found["driftline_dropped_total", "claims"] == 0


def test_claims_that_were_dropped_while_the_store_was_away_are_told(client, monkeypatch):
    """Their labels will be unknown; here is why."""
    monkeypatch.setattr("driftline.serving.feedback.joining.MOST_WAITING", 3)
    session = client.engine.monitor.session
    for n in range(10):
        session.memory.remember({f"r{n}": ["red"]})
    session.flush()  # sends the claims, and notes how many are missing
    assert evaluated(client)["driftline_dropped_total", "claims"] == 7


def test_feedback_is_told_by_what_became_of_it(client):
    """From zero on, so that the first of a kind is an increase."""
    statuses = ("joined", "unknown", "mismatched")
    assert [evaluated(client)["driftline_feedback_total", each] for each in statuses] == [0, 0, 0]
    for row in served.rows(3, 5).tolist():
        told = client.post("/predict", json={"instances": [row]}).get_json()
        label = told["predictions"][0]["label"]
        items = [
            {"request_id": told["request_id"], "label": [label, label]},
            {"request_id": "nobody", "label": label},
        ]
        assert client.post("/feedback", json=items).status_code == 200
        item = {"request_id": told["request_id"], "label": label}
        assert client.post("/feedback", json=item).get_json()["joined"] == 1
    found = evaluated(client)
    assert [found["driftline_feedback_total", each] for each in statuses] == [3, 3, 3]
    assert len([name for name, *_ in found if name == "driftline_feedback_total"]) == 3


def test_requests_that_the_model_was_not_asked_are_told(client):
    send(client, 2)
    monitor = client.engine.monitor
    monitor.after(monitor.before(served.rows(1, 1)), refused=True)
    found = evaluated(client)
    assert found["driftline_refused_total",] == 1
    assert found["driftline_inference_seconds_count",] == 2


def test_alerts_are_told_by_sink_and_outcome(client):
    found = evaluated(client)
    assert found["driftline_alerts_total", "toy", "delivered", "log"] == 0
    assert found["driftline_alerts_waiting", "toy", "log"] == 0


def test_trainings_under_way_are_gauges_by_run(client, monkeypatch):
    values = {"loss": 0.5, "grad_norm": 1e-7, "samples_per_second": 900.0, "lr": 0.1, "odd": 1.0}
    point = {"step": 7, "time": time.time(), "values": values}
    for run in ("one", 'two "quoted"\\'):
        event = point | {"rule": "r", "severity": "info", "sentence": "s"}
        del event["values"]
        body = {"sequence": 1, "points": [point], "events": [event]}
        if "\\" not in run:
            assert client.post(f"/runs/{run}/points", json=body).status_code == 200
    text = client.get("/metrics").get_data(as_text=True)
    found = scraped(text)
    assert found["driftline_train_grad_norm", "one"] == 1e-7
    assert found["driftline_train_learning_rate", "one"] == 0.1
    assert found["driftline_train_samples_per_second", "one"] == 900
    assert found["driftline_train_events_total", "one"] == 1
    assert found["driftline_train_step", "one"] == 7
    assert "odd" not in text
    now = time.time()
    monkeypatch.setattr("driftline.serving.api.metrics.time.time", lambda: now + 241)
    assert "grad_norm{" not in client.get("/metrics").get_data(as_text=True)


def test_the_board_tells_of_trainings_alone(tmp_path):
    app = create_board(BoardSettings(state=str(tmp_path / "board.db")))
    point = {"step": 1, "time": time.time(), "values": {"loss": 2.5}}
    board = app.test_client()
    board.post("/runs/x/points", json={"sequence": 1, "points": [point]})
    found = scraped(board.get("/metrics").get_data(as_text=True))
    assert found["driftline_train_loss", "x"] == 2.5
    assert found["driftline_alerts_waiting", "/trainings", "log"] == 0
    assert found["driftline_store_up",] == 1


def test_while_the_store_is_away_totals_are_left_out_and_the_last_verdict_is_told(
    client, monkeypatch
):
    send(client, 30)
    before = evaluated(client)

    def away(*_, **__):
        raise StoreError("the disk is gone")

    store = client.engine.monitor.session.store
    for name in ("get", "add", "ping", "acquire", "entries", "counters", "keys", "logs"):
        monkeypatch.setattr(store, name, away)
    answer = client.get("/metrics")
    assert answer.status_code == 200
    found = scraped(answer.get_data(as_text=True))
    assert found["driftline_store_up",] == 0
    assert found["driftline_model_state",] == before["driftline_model_state",]
    assert found["driftline_packaged_latency_p50_seconds",] == 0.001
    assert not [name for name, *_ in found if name.endswith("_total")]
    monkeypatch.undo()
    assert evaluated(client)["driftline_requests_total", "200"] == 30


def test_the_format_is_the_one_that_the_client_prefers(client):
    plain = client.get("/metrics")
    assert plain.content_type.startswith("text/plain; version=0.0.4")
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
    other = client.get("/metrics", headers=accept)
    assert other.content_type.startswith("application/openmetrics-text")
    assert other.data.endswith(b"# EOF\n")


def test_promtool_finds_nothing_wrong(client, needed):
    send(client, 5)
    evaluated(client)
    command = [needed("promtool"), "check", "metrics"]
    text = client.get("/metrics").data
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_token_is_asked_for(client_of):
    client = client_of(token="secret")
    assert client.get("/metrics").status_code == 401
    answer = client.get("/metrics", headers={"Authorization": "Bearer secret"})
    assert answer.status_code == 200
