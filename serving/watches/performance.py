"""What is known of performance: latency against its baseline, accuracy by labels and without."""

from __future__ import annotations

from ..alerts.condition import Condition
from ..alerts.tolerance import Tolerance
from ..evaluation.standing import Standing
from ..evaluation.words import estimate_words, harm_words, latency_words
from ..known import Version


def conditions(standing: Standing, version: Version, tolerance: Tolerance) -> list[Condition]:
    """Conditions of all that can be said; what cannot be said is none."""
    found = standing.performance
    said: list[Condition | None] = [
        _latency(standing, version),
        _labelled(standing, version) if found.harm is not None else None,
        _estimated(standing, version, tolerance) if found.estimate is not None else None,
    ]
    return [each for each in said if each is not None]


def _latency(standing: Standing, version: Version) -> Condition | None:
    found = standing.performance.latency
    verdict = found.verdict
    if verdict is None:
        return None
    words = latency_words(found)
    return Condition(
        kind="latency",
        model=version[0],
        version=version[1],
        name="regression",
        firing=found.regressed,
        severity="minor",
        since=verdict.onset,
        sentence_en=words.en,
        sentence_zh=words.zh,
        evidence_log10=verdict.evidence_log10,
    )


def _labelled(standing: Standing, version: Version) -> Condition | None:
    found = standing.performance.harm
    if found is None:
        return None
    words = harm_words(found)
    return Condition(
        kind="accuracy",
        model=version[0],
        version=version[1],
        firing=found.harmful,
        severity="major",
        since=found.since,
        sentence_en=words.en,
        sentence_zh=words.zh,
        evidence_log10=found.evidence_log10,
        needed_log10=found.needed_log10,
    )


def _estimated(standing: Standing, version: Version, tolerance: Tolerance) -> Condition | None:
    """Fires where the whole interval is too low; an estimate that is not to be relied on wakes
    nobody, and one whose interval is partly too low neither begins nor ends an alert."""
    found = standing.performance.estimate
    if found is None or found.packaged is None:
        return None
    words, least = estimate_words(found), found.packaged - tolerance.accuracy_loss
    firing: bool | None = None
    if not found.unreliable and (found.high < least or found.low >= least):
        firing = found.high < least
    return Condition(
        kind="accuracy",
        model=version[0],
        version=version[1],
        name="estimated",
        firing=firing,
        since=standing.verdict.onset,
        sentence_en=words.en,
        sentence_zh=words.zh,
    )
