"""`/metrics`: the totals of the store, the same from every worker, bounded, there in bad times."""

from __future__ import annotations

import subprocess
import time

import msgspec
import numpy as np
import pytest
import served
from prometheus_client.parser import text_string_to_metric_families

from driftline.metadata.errors import StoreError
from driftline.serving.board import BoardSettings, create_board
from driftline.serving.evaluation.standing import Standing
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.known import MOST_VERSIONS
from driftline.serving.metrics.histogram import CONFIDENCE, Histogram
from driftline.serving.metrics.verdicts import MOST_SIGNALS, families

OWN = {"model": "toy", "version": "1"}


def scraped(text: str) -> dict[tuple[str, ...], float]:
    """Values by name and label values, those of model and version left out."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            rest = [value for name, value in sorted(sample.labels.items()) if name not in OWN]
            found[sample.name, *rest] = sample.value
    return found


def send(client, count: int, **more) -> None:
    for row in served.rows(count, 5, **more).tolist():
        assert client.post("/predict", json={"instances": [row]}).status_code == 200


def evaluated(client) -> dict[tuple[str, ...], float]:
    session = client.engine.monitor.session
    session.flush()
    session.evaluator.turn(time.time())
    return scraped(client.get("/metrics").get_data(as_text=True))


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
        session.memory.remember(f"r{n}", ["red"])
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


def test_a_hundred_workers_one_after_the_other_leave_one_set_of_series(package, tmp_path):
    """Each life of a worker is a session over the same file; their totals add up, and the answer
    of the last is as long as that of the first."""
    lengths = []
    for life in range(1, 101):
        monitor = InferenceMonitor.open(package, store=f"sqlite:///{tmp_path}/state.db")
        with monitor.observe(served.rows(1, life)) as seen:
            seen.outputs = served.rows(1, life)[:, :3]
        monitor.flush()
        monitor.session.evaluator.turn(time.time())
        found = told(monitor)
        lengths.append(len(found))
        assert found["driftline_inference_seconds_count",] == life
        assert found["driftline_confidence_count",] == life
        monitor.close()
    assert lengths[1:] == [lengths[1]] * 99


def told(monitor: InferenceMonitor) -> dict[tuple[str, ...], float]:
    from driftline.serving.metrics.exposition import Exposition, exposed
    from driftline.serving.metrics.models import ModelCollector

    store = monitor.session.store
    part = ModelCollector(store, ("toy", "1"), now=time.time(), remember=lambda _: None)
    return scraped(exposed(Exposition([part], lambda: ()), "")[0].decode())


@pytest.mark.slow
def test_every_worker_gives_the_same_totals(serve):
    server = serve("--workers", "2")
    for row in served.rows(40, 3).tolist():
        assert server.predict([row]).ok

    def totals() -> dict[tuple[str, ...], float]:
        found = scraped(server.get("/metrics").text)
        return {key: n for key, n in found.items() if not key[0].startswith("driftline_eval")}

    served.until(lambda: totals().get(("driftline_requests_total", "200")) == 40)
    # New connections, so that both workers are asked.
    assert all(totals() == totals() for _ in range(10))


def test_many_versions_and_signals_are_told_up_to_a_bound(client, package):
    session = client.engine.monitor.session
    send(client, 30)
    evaluated(client)
    _, document = session.store.get(session.plan.series.verdict)
    for number in range(3 * MOST_VERSIONS):
        session.store.put(f"verdict/toy/v{number}/{number:012x}", document)
    text = client.get("/metrics").get_data(as_text=True)
    versions = {line.split('version="')[1].split('"')[0] for line in text.splitlines()
                if line.startswith("driftline_model_state{")}  # fmt: skip
    assert len(versions) == MOST_VERSIONS
    assert "1" in versions

    standing = msgspec.json.decode(document, type=Standing)
    each = standing.verdict.signals[0]
    many = [msgspec.structs.replace(each, name=f"s{n}") for n in range(3 * MOST_SIGNALS)]
    many[-1] = msgspec.structs.replace(many[-1], state="drift", name="the one")
    verdict = msgspec.structs.replace(standing.verdict, signals=tuple(many))
    wide = msgspec.structs.replace(standing, verdict=verdict)
    states = next(iter(families({("toy", "1"): wide}))).samples
    assert len(states) == MOST_SIGNALS
    assert states[0].labels["signal"] == "the one"


def test_two_packages_of_one_version_are_one_series(client):
    session = client.engine.monitor.session
    send(client, 5)
    evaluated(client)
    counters = {"toy/1/aaaaaaaaaaaa|responses|predict.predict|200": 7.0}
    session.store.add("another", 1, [], counters)
    assert evaluated(client)["driftline_requests_total", "200"] == 12


def test_a_histogram_adds_up_however_it_was_cut():
    histogram = Histogram("h", (1.0, 2.0, 5.0))
    values = np.array([0.5, 1.0, 1.5, 2.0, 7.0, np.nan, np.inf])
    whole = histogram.counters(values)
    parts: dict[str, float] = {}
    for value in values[np.isfinite(values)].tolist():
        for name, by in histogram.one(value).items():
            parts[name] = parts.get(name, 0.0) + by
    assert whole == parts
    bounds, total = histogram.read(whole)
    assert bounds == [("1.0", 2), ("2.0", 4), ("5.0", 4), ("+Inf", 5)]
    assert total == 12
    assert histogram.counters(np.array([])) == {}
