"""What the judge says about streams."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest

from driftline.drift import Ring, Verdict, judge, sentence
from driftline.metadata.errors import MergeError
from driftline.metadata.reference import Reference
from driftline.metadata.thresholds import Rule, Thresholds

START = 1_700_000_040


def traffic(seed: int, buckets: int, rows: int = 50, columns: int = 4) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).normal(size=(buckets, rows, columns)))


def test_an_empty_ring_has_no_data(normal: Reference, ring) -> None:
    verdict = judge(normal, ring(normal, []))
    assert verdict.state == "no_data"
    assert {each.state for each in verdict.signals} == {"no_data"}
    assert verdict.window_from is None


def test_few_rows_are_not_called_stable(normal: Reference, ring) -> None:
    verdict = judge(normal, ring(normal, traffic(2, 2)))
    assert verdict.state == "insufficient_data"
    assert judge(normal, ring(normal, traffic(2, 12))).state == "stable"


def test_a_shift_is_called_by_name_since_its_bucket(normal: Reference, ring) -> None:
    batches = traffic(3, 40)
    for rows in batches[34:]:
        rows[:, 2] += 0.8
    verdict = judge(normal, ring(normal, batches))
    assert verdict.state == "drift"
    assert verdict.onset == START + 34 * 60
    named = [each for each in verdict.signals if each.state == "drift"]
    assert [each.name for each in named] == ["x2"]
    assert named[0].severity == "major"
    assert named[0].effect is not None
    assert named[0].effect.mean_shift_sd == pytest.approx(0.8, abs=0.15)
    assert "x2 rose by 0." in verdict.sentence


def test_a_small_sure_change_is_a_warning(normal: Reference, ring) -> None:
    batches = [rows + 0.15 for rows in traffic(4, 60)]
    verdict = judge(normal, ring(normal, batches))
    assert verdict.state == "warning"
    lower = Thresholds(default=Rule(psi=0.005))
    assert judge(normal, ring(normal, batches), thresholds=lower).state == "drift"


def test_missing_values_are_called_by_their_flag(normal: Reference, ring) -> None:
    random = np.random.default_rng(5)
    batches = traffic(5, 20)
    for rows in batches[15:]:
        rows[random.random(len(rows)) < 0.1, 1] = np.nan
    verdict = judge(normal, ring(normal, batches))
    flagged = next(each for each in verdict.signals if each.name == "x1:missing")
    main = next(each for each in verdict.signals if each.name == "x1")
    assert (verdict.state, flagged.state, main.state) == ("drift", "drift", "stable")
    assert flagged.effect is not None
    assert flagged.effect.missing_change == pytest.approx(0.1, abs=0.05)


def test_a_verdict_goes_through_json(normal: Reference, ring) -> None:
    verdict = judge(normal, ring(normal, traffic(6, 30)))
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


def test_both_languages_speak(normal: Reference, ring) -> None:
    batches = [rows + 1 for rows in traffic(7, 10)]
    verdict = judge(normal, ring(normal, batches), language="zh")
    assert "漂移" in verdict.sentence
    assert sentence(verdict, "en").startswith("Drift in ")
    assert "independent requests" in sentence(verdict, "en")


def test_a_persistent_drift_stays_when_it_fills_the_ring(normal: Reference, ring) -> None:
    batches = traffic(8, 130)
    for rows in batches[10:]:
        rows[:, 0] += 0.6
    full = ring(normal, batches)
    verdict = None
    for last in range(14, 131, 6):
        first = max(last - 60, 0)
        part = Ring(
            60,
            full.starts[first:last],
            full.cells[first:last],
            full.rows[first:last],
            full.moments[first:last],
        )
        verdict = judge(normal, part, previous=verdict)
        assert verdict.state == "drift", last
        assert verdict.onset == START + 600


def test_a_drift_that_ended_is_resolved_and_stays_so(normal: Reference, ring) -> None:
    batches = traffic(9, 60)
    for rows in batches[10:20]:
        rows[:, 0] += 0.6
    states = []
    verdict = None
    for last in range(8, 61):
        verdict = judge(normal, ring(normal, batches[:last]), previous=verdict)
        states.append(verdict.state)
    changes = [state for state, _ in itertools.groupby(states)]
    assert changes == ["stable", "drift", "stable"]
    assert states.index("drift") + 8 <= 14
    assert 20 < 8 + len(states) - states[::-1].index("drift") <= 32


def test_plain_limits_stand_beside_the_state(normal: Reference, ring) -> None:
    batches = [rows + np.array([0.0, 0.0, 0.0, 0.2]) for rows in traffic(10, 4)]
    thresholds = Thresholds(signals={"x3": Rule(mean_change=0.05, mean_high=5.0)})
    verdict = judge(normal, ring(normal, batches), thresholds=thresholds)
    assert [(each.column, each.limit) for each in verdict.breaches] == [("x3", "mean_change")]
    assert "x3" in verdict.breaches[0].sentence


def test_counts_of_another_reference_are_refused(normal: Reference, fit, ring) -> None:
    other = fit(np.random.default_rng(1).normal(size=(300, 2)))
    with pytest.raises(MergeError):
        judge(normal, ring(other, traffic(1, 3, columns=2)))


def test_the_slow_ring_sees_what_the_fast_one_cannot(normal: Reference, ring) -> None:
    batches = [rows + np.array([0.12, 0.0, 0.0, 0.0]) for rows in traffic(11, 100, rows=600)]
    slow = ring(normal, batches, width=3600)
    fast = ring(normal, [rows[:10] for rows in batches[-30:]], width=60)
    assert judge(normal, fast).state in ("stable", "insufficient_data")
    verdict = judge(normal, fast, slow=slow)
    assert verdict.state == "warning"
    assert verdict.onset is not None
    assert verdict.onset < START + 3600 * 95


def test_an_hour_does_not_blur_a_beginning_that_was_known_to_the_minute(normal, ring) -> None:
    """The minutes have left the fast ring but for the last; the hour holds the evidence now."""
    batches = traffic(12, 60)
    for rows in batches[34:]:
        rows[:, 2] += 0.8
    told = judge(normal, ring(normal, batches[:40]))
    assert told.onset == START + 34 * 60
    hour = ring(normal, [np.concatenate(batches)], width=3600)
    last = Ring.of(60, {START + 59 * 60: normal.layout.count("input", batches[59])})
    verdict = judge(normal, last, slow=hour, previous=told)
    assert verdict.state == "drift"
    assert verdict.onset == START + 34 * 60
    (named,) = [each for each in verdict.signals if each.name == "x2"]
    assert named.onset == START + 34 * 60
    assert judge(normal, last, slow=hour).onset == START


def test_a_night_without_requests_after_a_drift_that_partly_returned_is_judged(fit, ring) -> None:
    """One column shifted and came back, another shifted since; then no request came for an hour.
    The fast ring is empty, and in the slow one the first column's past is forgotten."""
    random = np.random.default_rng(0)
    reference = fit(random.normal(size=(4_000, 2)))

    def rows(first: float, second: float) -> np.ndarray:
        return np.array([first, second]) + random.normal(size=(60, 2))

    batches, verdict = [rows(0, 0.8) for _ in range(6)], None
    for minute in range(50):
        batches.append(rows(0.8 if minute > 25 else 0, 0))
        slow = ring(reference, [np.concatenate(batches)], width=3600)
        verdict = judge(reference, ring(reference, batches), previous=verdict, slow=slow)
    assert any(each.quiet_since for each in verdict.signals)
    night = judge(reference, Ring.of(60, {}), previous=verdict, slow=slow)
    assert night.state == "drift"
    assert judge(reference, Ring.of(60, {}), previous=night).state == "no_data"


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_independent_requests_a_bucket_are_not_taken_for_bursts(fit, ring, rows: int) -> None:
    """χ² of one value against one is always 1, which is more than its trimmed mean should be."""
    reference = fit(np.random.default_rng(1).normal(size=(2_000, 1)))
    found = [
        judge(reference, ring(reference, traffic(seed, 60, rows, 1))).signals[0].inflation
        for seed in range(30)
    ]
    assert np.median(found) < 1.35
