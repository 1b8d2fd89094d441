"""`/drift?from=&to=`: the verdict over a span of the past, judged anew from the store."""

from __future__ import annotations

import time

import numpy as np
import pytest
import served
from msgspec.structs import replace

from driftline.drift.baseline import Usual
from driftline.drift.latency import Latency
from driftline.metadata.errors import StoreError
from driftline.metadata.host import host_fingerprint
from driftline.metadata.quality import LATENCY_EDGES, LatencyBaseline, Quality
from driftline.serving.evaluation.span import Span
from driftline.serving.evaluation.standing import decode, encode
from driftline.serving.evaluation.times import iso
from driftline.serving.feedback.joining import Joined
from driftline.serving.hooks.columns import Columns
from driftline.serving.series import Series
from driftline.serving.service_signals import SERVICE, requests_matrix
from driftline.serving.stores.memory import MemoryStore
from driftline.serving.stores.store import Delta

SERIES = Series("toy/1/x", 60)
NOW = 1_700_000_000


@pytest.fixture
def past(client):
    """A client in whose store an hour-long past was laid: quiet, then shifted, then quiet."""
    engine, session = client.engine, client.engine.monitor.session
    session._judge.stop()
    series, layout = session.plan.series, engine.metadata.reference.layout
    now = int(time.time()) // 60 * 60
    deltas = []
    for index, shift in enumerate([0.0] * 10 + [2.0] * 10 + [0.0] * 10):
        at = now - 1_800 + 60 * index
        rows = served.rows(100, index, shift=shift)
        outputs = {"logits": rows @ served.weights()}
        counts = layout.count("input", engine.columns.matrix("input", {"x": rows}))
        counts = counts + layout.count("output", engine.columns.matrix("output", outputs))
        took = SERVICE.count("service", requests_matrix(rows[:, 0] * 0 + 0.01, rows[:, 0] * 0, 1.0))
        for width in (60, 3600):
            start = at // width * width
            deltas.append(Delta(series.model(width), start, counts))
            deltas.append(Delta(series.service(width), start, took))
    session.store.add("test", 1, deltas, {})
    client.begun = now - 1_800
    return client


def over(client, since: int | None = None, until: int | None = None) -> dict:
    words = {"from": since, "to": until}
    asked = {name: iso(client.begun + at) for name, at in words.items() if at is not None}
    answer = client.get("/drift", query_string=asked)
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def test_each_part_of_the_past_is_judged_by_itself(past):
    quiet, changed = over(past, 0, 600), over(past, 600, 1_200)
    assert (quiet["state"], changed["state"], over(past, 0)["state"]) == (
        "stable",
        "drift",
        "drift",
    )
    assert over(past, 1_200, 1_800)["state"] == "stable"
    assert quiet["window"] | {"requests_total": 0} == {
        "from": iso(past.begun),
        "to": iso(past.begun + 600),
        "bucket_seconds": 60,
        "requests": 1_000,
        "rows": 1_000,
        "requests_total": 0,
    }
    assert changed["since"] == iso(past.begun + 600)
    assert past.get("/drift").get_json()["state"] == "no_data"


def test_the_bucket_in_which_it_begins_belongs_to_it(past):
    assert over(past, 30, 90)["window"]["requests"] == 200
    assert over(past, 60, 61)["window"]["requests"] == 100


def test_signals_are_chosen_in_a_span_too_and_the_answer_has_a_tag(past):
    where = {"from": iso(past.begun), "to": iso(past.begun + 600), "signal": "a1"}
    first = past.get("/drift", query_string=where)
    assert [each["name"] for each in first.get_json()["signals"]] == ["a1"]
    assert first.headers["ETag"]


def test_beyond_the_fast_ring_whole_hours_are_judged(past):
    told = over(past, -7_200)
    assert told["window"]["bucket_seconds"] == 3_600
    assert told["window"]["requests"] == 3_000
    assert over(past, None, 1_800)["window"]["bucket_seconds"] == 3_600


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=yesterday", "from"),
        ("from=", "from"),
        ("from=2026-01-02", "from"),
        ("from=2026-01-02T03:04:05", "from"),
        ("from=1700000000", "from"),
        ("to=2026-13-01T00:00:00Z", "to"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
        ("from=" + "2" * 5_000, "from"),
    ],
)
def test_times_that_make_no_span_are_refused_with_the_field(client, query, field):
    answer = client.get(f"/drift?{query}")
    assert (answer.status_code, answer.get_json()["error"]["field"]) == (422, field)


@pytest.mark.parametrize(
    "query", ["from=9999-12-31T23:59:59Z", "to=2001-01-01T00:00:00Z", "to=0001-01-01T00:00:00Z"]
)
def test_a_span_that_nobody_counted_has_no_data(past, query):
    told = past.get(f"/drift?{query}").get_json()
    assert (told["state"], told["window"]["requests"]) == ("no_data", 0)


def test_a_span_is_never_longer_than_a_ring():
    far = Span.of("1970-01-01T00:00:00Z", "9999-01-01T00:00:00Z", SERIES, NOW)
    assert (far.width, far.until) == (3_600, NOW + 1)
    assert (far.until - far.since) / far.width <= 168
    near = Span.of(iso(NOW - 3_500), None, SERIES, NOW)
    assert near.width == 60
    assert (near.until - near.since) / near.width <= 61


def test_while_the_store_is_away_a_span_cannot_be_told(past, monkeypatch):
    def away(*_, **__):
        raise StoreError("the disk is gone")

    monkeypatch.setattr(past.engine.monitor.session.store, "read", away)
    answer = past.get("/drift", query_string={"from": iso(past.begun)})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (503, "state_unavailable")


@pytest.fixture
def timed(client_of, tmp_path):
    """A client of a package with quality and timings of this machine; an hour of its past was
    quick and right, but for the last ten minutes, which were slow."""
    quality = Quality(rows=2_000, accuracy=0.9)
    timings = np.random.default_rng(7).lognormal(np.log(0.002), 0.2, 200)
    cells = np.bincount(np.searchsorted(LATENCY_EDGES, timings, side="right"), minlength=65)
    p50, p95, p99 = np.quantile(timings, [0.5, 0.95, 0.99]).tolist()
    latency = LatencyBaseline(
        p50=p50, p95=p95, p99=p99, calls=200,
        edges=LATENCY_EDGES, counts=tuple(cells.tolist()), host=host_fingerprint(),
    )  # fmt: skip
    client = client_of(package=served.package(tmp_path / "p", quality=quality, latency=latency))
    session = client.engine.monitor.session
    session._judge.stop()
    series, now = session.plan.series, int(time.time()) // 60 * 60
    random, deltas = np.random.default_rng(8), []
    for minute in range(50):
        seconds = random.lognormal(np.log(0.002), 0.2, 60) * (20 if minute >= 40 else 1)
        took = SERVICE.count("service", requests_matrix(seconds, seconds * 0, 200.0))
        at = now - 3_000 + 60 * minute
        for width in (60, 3600):
            deltas.append(Delta(series.service(width), at // width * width, took))
    session.store.add("test", 1, deltas, {})
    client.begun = now - 3_000
    return client


def test_the_past_is_compared_with_the_package_and_never_with_itself(timed):
    slow, quick = over(timed, 2_400, 3_000)["latency"], over(timed, 0, 2_400)["latency"]
    assert (slow["baseline"]["source"], slow["regressed"], slow["reason"]) == ("package", True, "")
    assert (quick["baseline"]["source"], quick["regressed"]) == ("package", False)


def test_the_past_is_compared_with_the_baseline_of_now_where_the_service_has_its_own(timed):
    session = timed.engine.monitor.session
    elsewhere = Usual(source="service", counts=(60, *(0 for _ in LATENCY_EDGES)), host="elsewhere")
    session.evaluator.turn(time.time())
    series = session.plan.series
    found = decode(session.store.get(series.verdict)[1])
    performance = replace(found.performance, latency=Latency(usual=elsewhere))
    session.store.put(series.verdict, encode(replace(found, performance=performance)))
    told = over(timed, 0, 2_400)["latency"]
    assert (told["baseline"]["source"], told["baseline"]["host"]) == ("service", "elsewhere")


def test_labels_that_came_in_the_hours_of_the_span_are_told(timed):
    session = timed.engine.monitor.session
    joined = Joined(request_id="a", status="joined", right=30, wrong=4)
    session.labelled([joined])
    session.flush()
    labelled = over(timed, 0)["accuracy"]["labelled"]
    assert (labelled["rows"], labelled["packaged"]) == (34, pytest.approx(0.9, abs=0.001))


def test_whole_hours_within_a_span_of_minutes_are_judged_beside_them():
    """Those that begin or end outside of it hold other counts too."""
    store, series = MemoryStore(), Series("toy/1/x", 1800)
    metadata = served.metadata()
    layout = metadata.reference.layout
    rows = served.rows(10, 1)
    counts = layout.count("input", Columns(metadata).matrix("input", {"x": rows}))
    hour = NOW // 3600 * 3600 - 36_000
    store.add("t", 1, [Delta(series.model(3600), hour + 3600 * at, counts) for at in range(5)], {})
    span = Span.of(iso(hour + 1800), iso(hour + 4 * 3600 + 1800), series, NOW)
    assert span.width == 1800
    assert list(span._hours(series, store, metadata, NOW)) == [hour + 3600 * at for at in (1, 2, 3)]
