"""`/metrics` of many workers and versions: one set of series, the same totals, bounded."""

from __future__ import annotations

import time

import msgspec
import numpy as np
import pytest
import served
from scraping import evaluated, scraped, send

from driftline.serving.evaluation.standing import Standing
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.known import MOST_VERSIONS
from driftline.serving.metrics.histogram import Histogram
from driftline.serving.metrics.verdicts import MOST_SIGNALS, families


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
