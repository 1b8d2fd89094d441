"""Requests become counts, the same however they are cut; what does not fit is counted as that."""

from __future__ import annotations

import numpy as np
import pytest
import served

from driftline.serving.hooks.seen import Seen
from driftline.serving.hooks.tally import Tally
from driftline.serving.series import Series
from driftline.serving.service_signals import SERVICE, quantile, rate, requests_in

METADATA = served.metadata()
SERIES = Series.of(METADATA, 60)
MODEL, SLOW = SERIES.model(60), SERIES.model(3600)


@pytest.fixture(scope="module")
def tally():
    return Tally(METADATA, SERIES, low_confidence=0.5, latency_ms=200.0)


def request(rows, at: float = 1_000_000_000.0, seconds: float = 0.01, **more) -> Seen:
    seen = Seen(rows)
    seen.outputs, seen.at, seen.seconds = rows @ served.weights(), at, seconds
    for name, value in more.items():
        setattr(seen, name, value)
    return seen


def test_splitting_a_stream_anyhow_gives_the_same_counts(tally):
    requests = [request(served.rows(1 + n % 3, n), at=1e9 + 7 * n) for n in range(60)]
    together, counters = tally.count(requests)
    apart: dict = {}
    for at in range(0, 60, 7):
        for key, each in tally.count(requests[at : at + 7])[0].items():
            apart[key] = apart[key] + each if key in apart else each
    assert together.keys() == apart.keys()
    for key, each in together.items():
        assert each.cells.tolist() == apart[key].cells.tolist()
        np.testing.assert_allclose(each.moments, apart[key].moments, rtol=1e-9)
    assert counters[SERIES.counter("requests")] == 60


def test_both_rings_hold_the_same_counts(tally):
    counts, _ = tally.count([request(served.rows(2, n), at=1e9 + 30 * n) for n in range(50)])
    fast = [each.cells for (series, _), each in counts.items() if series == MODEL]
    slow = [each.cells for (series, _), each in counts.items() if series == SLOW]
    assert len(fast) > len(slow)
    assert sum(fast).tolist() == sum(slow).tolist()
    assert all(at % 60 == 0 for series, at in counts if series == MODEL)
    assert all(at % 3600 == 0 for series, at in counts if series == SLOW)


def test_mappings_tuples_lists_of_rows_and_single_rows_are_understood(tally):
    row = served.rows(1, 5)
    logits = row @ served.weights()
    named = [{"a0": float(row[0, 0]), "a1": float(row[0, 1]), "a2": float(row[0, 2])}]
    named[0]["size"] = served.WORDS[int(row[0, 3])]
    found = []
    for inputs, outputs in (
        (row, logits),
        ({"x": row}, {"logits": logits}),
        ((row,), (logits,)),
        (row[0], logits[0]),
        (named, logits),
    ):
        seen = request(row)
        seen.inputs, seen.outputs = inputs, outputs
        counts, counters = tally.count([seen])
        assert not any("unusable" in name for name in counters)
        found.append(next(c for (series, _), c in counts.items() if series == MODEL))
    # Numbers written out by name pass through float64 and back; cells are the same all the same.
    assert all(each.cells.tolist() == found[0].cells.tolist() for each in found)


def test_what_does_not_fit_is_counted_as_unusable_and_the_rest_as_ever(tally):
    broken = [
        request(served.rows(1, 1), inputs=np.zeros((1, 9), np.float32)),
        request(served.rows(1, 1), inputs=np.array([["a", "b", "c", "d"]])),
        request(served.rows(1, 1), inputs={"nobody": np.zeros((1, 4))}),
        request(served.rows(1, 1), inputs=object()),
    ]
    counts, counters = tally.count([*broken, request(served.rows(2, 1))])
    assert counters[SERIES.counter("unusable|input")] == 4
    assert counters[SERIES.counter("requests")] == 5
    model = next(c for (series, _), c in counts.items() if series == MODEL)
    assert model.rows.tolist() == [2, 6]


def test_missing_values_and_infinities_are_counted_as_missing(tally):
    row = np.array([[np.nan, np.inf, 0.5, 1.0]], np.float32)
    seen = request(row)
    seen.outputs = None
    counts, _ = tally.count([seen])
    model = next(c for (series, _), c in counts.items() if series == MODEL)
    assert model.of("a0:missing").tolist() == [0, 1]
    assert model.of("a1:missing").tolist() == [0, 1]
    assert model.of("a2:missing").tolist() == [1, 0]
    assert model.of("a0").sum() == 0


def test_a_refused_request_counts_its_inputs_and_nothing_else(tally):
    seen = request(served.rows(1, 1))
    seen.outputs, seen.refused = None, True
    counts, counters = tally.count([seen])
    service = next(c for (series, _), c in counts.items() if "service" in series)
    assert requests_in(service) == 0
    assert SERIES.counter("requests") not in counters
    assert counters[SERIES.counter("refused")] == 1


def test_service_signals_count_latency_errors_and_low_confidence(tally):
    requests = [
        request(served.rows(1, n), seconds=s) for n, s in enumerate([0.01] * 90 + [0.3] * 10)
    ]
    requests[0].failed = True
    counts, counters = tally.count(requests)
    service = next(c for (series, _), c in counts.items() if "service" in series)
    assert requests_in(service) == 100
    assert rate(service, "error") == 0.01
    assert rate(service, "slow") == 0.1
    assert counters[SERIES.counter("failed")] == 1
    confidence = [
        float(np.exp(z).max() / np.exp(z).sum()) for r in requests for z in np.asarray(r.outputs)
    ]
    assert rate(service, "low_confidence") == np.mean(np.array(confidence) < 0.5)


def test_latency_quantiles_are_right_to_the_width_of_a_cell():
    seconds = np.random.default_rng(3).lognormal(-4, 0.7, 20_000)
    matrix = np.column_stack([seconds, np.zeros_like(seconds), np.zeros_like(seconds)])
    counts = SERVICE.count("service", matrix)
    for q in (0.01, 0.5, 0.95, 0.99):
        found = quantile(counts, "latency", q)
        assert found is not None
        assert found == pytest.approx(float(np.quantile(seconds, q)), rel=0.03)
    assert quantile(SERVICE.zeros(), "latency", 0.5) is None
    assert quantile(SERVICE.count("service", matrix[:1]), "latency", 0.5) == pytest.approx(
        seconds[0]
    )
