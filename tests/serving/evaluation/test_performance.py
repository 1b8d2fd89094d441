"""Latency, confidence and accuracy as `/drift` tells them, from counts to words."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
import numpy as np
import pytest
import served

from driftline.drift.reliability import fit_reliability
from driftline.metadata.extract import Classification
from driftline.metadata.host import host_fingerprint
from driftline.metadata.quality import LATENCY_EDGES, LatencyBaseline, Quality
from driftline.metadata.schema import ModelMetadata
from driftline.serving.evaluation import report
from driftline.serving.evaluation.judging import Facts, stand
from driftline.serving.evaluation.standing import Standing, decode, encode
from driftline.serving.evaluation.told import quantile
from driftline.serving.hooks.seen import Seen
from driftline.serving.hooks.tally import Tally
from driftline.serving.series import Series

START = 1_800_000_000
TASK = Classification(served.CLASSES)


def outcome(rows: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and true classes drawn with the probabilities that these say."""
    logits = rows @ served.weights()
    p = TASK.probabilities(logits)
    drawn = (np.random.default_rng(seed).random(len(p))[:, None] > p.cumsum(axis=1)).sum(axis=1)
    return logits, np.minimum(drawn, 2)


@functools.cache
def packaged(host: str) -> ModelMetadata:
    """The toy package with its quality measured, its latencies about 2 ms on `host`."""
    plain = served.metadata()
    logits, truth = outcome(served.rows(4_000, 5), 6)
    p = TASK.probabilities(logits)
    predicted = p.argmax(axis=1)
    confusion = np.zeros((3, 3), dtype=int)
    np.add.at(confusion, (truth, predicted), 1)
    each = next(one for one in plain.reference.signals if one.name == "top_probability")
    quality = Quality(
        rows=4_000,
        accuracy=float((predicted == truth).mean()),
        confusion=tuple(map(tuple, confusion.tolist())),
        reliability=fit_reliability(each, p.max(axis=1), predicted == truth),
    )
    timings = np.random.default_rng(7).lognormal(np.log(0.002), 0.2, 200)
    counts = np.bincount(np.searchsorted(LATENCY_EDGES, timings, side="right"), minlength=65)
    p50, p95, p99 = np.quantile(timings, [0.5, 0.95, 0.99]).tolist()
    latency = LatencyBaseline(
        p50=p50, p95=p95, p99=p99, calls=200,
        edges=LATENCY_EDGES, counts=tuple(counts.tolist()), host=host,
    )  # fmt: skip
    return msgspec.structs.replace(plain, quality=quality, latency=latency)


def facts(
    metadata: ModelMetadata,
    minutes: int,
    *,
    shift_from: int = 999,
    slow_from: int = 999,
    batch: int = 1,
    **more: Any,
) -> Facts:
    """60 requests a minute, from some minute on shifted by 1.5 or four times as slow."""
    series = Series.of(metadata, 60)
    tally = Tally(metadata, series, low_confidence=0.3, latency_ms=200)
    random = np.random.default_rng(8)
    requests = []
    for minute in range(minutes):
        rows = served.rows(60 * batch, minute, shift=1.5 if minute >= shift_from else 0.0)
        seconds = random.lognormal(np.log(0.002), 0.2, 60) * (4 if minute >= slow_from else 1)
        for at in range(60):
            seen = Seen(rows[at * batch : (at + 1) * batch])
            seen.outputs = seen.inputs @ served.weights()
            seen.at, seen.seconds = START + 60.0 * minute + at, float(seconds[at])
            requests.append(seen)
    counts, _ = tally.count(requests)
    model, service = series.model(60), series.service(60)
    return Facts(
        {start: each for (name, start), each in counts.items() if name == model},
        {},
        {start: each for (name, start), each in counts.items() if name == service},
        {},
        **more,
    )


def told(metadata: ModelMetadata, found: Facts, before: Standing | None = None):
    """The standing, and what `/drift` says of it."""
    standing = stand(
        metadata,
        Series.of(metadata, 60),
        found,
        thresholds=metadata.thresholds,
        before=before,
        now=START + 3_600,
    )
    return standing, report.drift(standing, metadata, metadata.thresholds)


def test_on_the_packaging_kind_of_machine_latency_is_compared_with_the_package() -> None:
    metadata = packaged(host_fingerprint())
    _, said = told(metadata, facts(metadata, 25, host=host_fingerprint()))
    latency = said["latency"]
    assert (latency["baseline"]["source"], latency["baseline"]["applies"]) == ("package", True)
    assert (latency["state"], latency["regressed"], latency["reason"]) == ("stable", False, "")
    assert latency["sentence"].startswith("As usual: ")
    assert latency["over_limit"] is False
    _, said = told(metadata, facts(metadata, 25, slow_from=22, host=host_fingerprint()))
    latency = said["latency"]
    assert latency["regressed"]
    assert latency["since"] == report.iso(START + 22 * 60)
    assert latency["over_mark_share"] > 0.9
    assert "in the package's timings" in latency["sentence"]
    assert said["state"] == "stable"


def test_a_service_slower_than_the_package_from_the_first_request_on_is_no_regression() -> None:
    """Its own stretch is the baseline then, and why stays told for as long as it is."""
    metadata, here = packaged(host_fingerprint()), host_fingerprint()
    standing, said = told(metadata, facts(metadata, 8, slow_from=0, host=here))
    assert (said["latency"]["state"], said["latency"]["regressed"]) == ("no_data", False)
    assert "as quick as the package's timings" in said["latency"]["reason"]
    for minutes in (15, 30):
        standing, said = told(metadata, facts(metadata, minutes, slow_from=0, host=here), standing)
        assert said["latency"]["baseline"]["source"] == "service"
        assert said["latency"]["reason"].startswith("no stretch of requests has been as quick")
        assert (said["latency"]["state"], said["latency"]["regressed"]) == ("stable", False)


def test_elsewhere_latency_is_compared_with_the_first_stable_stretch_which_is_kept() -> None:
    metadata = packaged("another machine")
    standing, said = told(metadata, facts(metadata, 8, host="here"))
    baseline = said["latency"]["baseline"]
    assert (baseline["source"], baseline["applies"]) == ("package", False)
    assert "another kind of machine; a stable stretch" in said["latency"]["reason"]
    assert said["latency"]["state"] == "no_data"
    standing, said = told(metadata, facts(metadata, 15, host="here"), standing)
    baseline = said["latency"]["baseline"]
    assert (baseline["source"], baseline["requests"]) == ("service", 600)
    assert baseline["from"] == report.iso(START + 60)
    assert baseline["p50_ms"] == pytest.approx(2.0, rel=0.15)
    assert baseline["p95_ms"] == pytest.approx(2.0 * np.exp(0.2 * 1.645), rel=0.15)
    standing, said = told(metadata, facts(metadata, 30, slow_from=25, host="here"), standing)
    assert said["latency"]["regressed"]
    assert said["latency"]["baseline"] == baseline
    assert said["latency"]["p50_ratio"] > 1
    assert "in this service's first stable stretch" in said["latency"]["sentence"]


def test_a_lease_that_moves_to_another_kind_of_machine_takes_the_baseline_with_it() -> None:
    """Neither dropped, nor learned anew from a stretch that has just been called slow."""
    here = host_fingerprint()
    metadata = packaged(here)
    standing, said = told(metadata, facts(metadata, 30, slow_from=5, host=here))
    assert said["latency"]["regressed"]
    _, moved = told(metadata, facts(metadata, 30, slow_from=5, host="there"), standing)
    assert moved["latency"]["baseline"] == said["latency"]["baseline"]
    assert moved["latency"]["regressed"]
    assert "other kinds of machine" in moved["latency"]["reason"]
    calm, _ = told(metadata, facts(metadata, 30, host=here))
    own, said = told(metadata, facts(metadata, 30, host="there"), calm)
    assert said["latency"]["baseline"]["source"] == "service"
    _, back = told(metadata, facts(metadata, 30, slow_from=5, host=here), own)
    assert back["latency"]["baseline"] == said["latency"]["baseline"]


def test_single_row_timings_are_no_measure_of_batches() -> None:
    metadata = packaged(host_fingerprint())
    _, said = told(metadata, facts(metadata, 15, batch=4, host=host_fingerprint()))
    assert said["latency"]["baseline"]["source"] == "service"
    assert "requests have 4 on average" in said["latency"]["reason"]


def test_accuracy_is_estimated_and_a_major_drift_takes_its_word_back() -> None:
    metadata = packaged("there")
    _, said = told(metadata, facts(metadata, 30))
    accuracy = said["accuracy"]
    estimated = accuracy["estimated"]
    assert metadata.quality is not None
    assert accuracy["packaged"] == metadata.quality.accuracy
    assert estimated["low"] < metadata.quality.accuracy < estimated["high"]
    assert estimated["value"] == pytest.approx(estimated["atc"], abs=0.03)
    assert (estimated["rows"], estimated["unreliable"]) == (1_800, "")
    assert accuracy["label_shift"]["now"].keys() == set(served.CLASSES)
    assert sum(accuracy["label_shift"]["now"].values()) == pytest.approx(1)
    assert accuracy["labelled"] is None
    _, said = told(metadata, facts(metadata, 30, shift_from=20))
    estimated = said["accuracy"]["estimated"]
    # Only of what came since the drift began; labels drawn as before would agree with it.
    assert estimated["rows"] == 600
    rows = np.concatenate([served.rows(60, minute, shift=1.5) for minute in range(20, 30)])
    logits, truth = outcome(rows, 9)
    right = (logits.argmax(axis=1) == truth).mean()
    assert estimated["low"] < right < estimated["high"]
    assert estimated["unreliable"].startswith("major drift of a")
    assert "Not to be relied on" in estimated["sentence"]


def test_labels_tell_what_is_real_and_call_harm() -> None:
    metadata = packaged("there")
    assert metadata.quality is not None
    usual = metadata.quality.accuracy
    assert usual is not None
    random = np.random.default_rng(11)

    def feedback(*shares: float) -> dict[int, tuple[int, int]]:
        right = random.binomial(60, shares)
        return {START + 60 * at: (int(n), 60 - int(n)) for at, n in enumerate(right)}

    _, said = told(metadata, facts(metadata, 30, feedback=feedback(*[usual] * 30)))
    labelled = said["accuracy"]["labelled"]
    assert (labelled["rows"], labelled["harmful"]) == (1_800, False)
    assert labelled["low"] < labelled["value"] < labelled["high"]
    worse = feedback(*[usual] * 20, *[usual - 0.35] * 10)
    _, said = told(metadata, facts(metadata, 30, feedback=worse))
    labelled = said["accuracy"]["labelled"]
    assert labelled["harmful"]
    assert labelled["since"] == report.iso(START + 20 * 60)
    assert labelled["sentence"].startswith("Accuracy fell by more than 5 % below the packaged ")
    assert said["state"] == "stable"


def test_a_package_without_quality_or_timings_says_so() -> None:
    metadata = msgspec.structs.replace(served.metadata(), latency=None)
    standing, said = told(metadata, facts(metadata, 3, feedback={START: (3, 4)}))
    assert said["accuracy"] == {
        "packaged": None,
        "estimated": None,
        "label_shift": None,
        "labelled": None,
    }
    assert said["latency"]["baseline"] is None
    assert "holds no timings" in said["latency"]["reason"]
    assert said["sensitivity"] is None
    assert decode(encode(standing)) == standing


def test_confidence_tells_its_verdict() -> None:
    metadata = packaged("there")
    _, said = told(metadata, facts(metadata, 10))
    confidence = said["confidence"]
    assert confidence["state"] in ("stable", "insufficient_data")
    assert confidence["reference_low_share"] < 0.01
    assert (confidence["low_share"], confidence["under_limit"]) == (0.0, False)


def test_all_of_it_survives_its_json() -> None:
    metadata = packaged(host_fingerprint())
    found = facts(metadata, 12, host=host_fingerprint(), feedback={START: (50, 10)})
    standing, said = told(metadata, found)
    assert decode(encode(standing)) == standing
    assert b"NaN" not in msgspec.json.encode(said)


@pytest.mark.parametrize("q", [0.5, 0.95, 0.99])
def test_quantiles_of_cells_are_right_to_a_cell(q: float) -> None:
    timings = np.random.default_rng(1).lognormal(-5, 0.7, 5_000)
    counts = np.bincount(np.searchsorted(LATENCY_EDGES, timings, side="right"), minlength=65)
    assert quantile(counts.tolist(), q) == pytest.approx(np.quantile(timings, q), rel=0.12)
