"""A condition: what the evaluator found to hold, or not to hold, just now."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from msgspec import Struct

from driftline.drift.sentences import sentence
from driftline.drift.verdict import Severity, SignalVerdict, Verdict
from driftline.metadata.signals import Group

from .alert import SEVERITIES, Kind, SignalNote, Text, condition_key


class Condition(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One thing that may be wrong with one model.

    `firing` is None when it cannot be said (no data): an open episode then stays as it is.
    `since` is the Unix second at which it began, None when not known; `since_text` is how its
    sentences write it, ``""`` where they do not. `together` are the groups of signals that drift
    as several. The rest is as in `Alert`.
    """

    kind: Kind
    model: str
    version: str
    firing: bool | None
    sentence_en: str
    sentence_zh: str
    severity: Severity = "moderate"
    since: float | None = None
    since_text: str = ""
    signals: tuple[SignalNote, ...] = ()
    together: tuple[Group, ...] = ()
    name: str = ""
    evidence_log10: float | None = None
    needed_log10: float | None = None

    @property
    def key(self) -> str:
        """What tells it from other conditions."""
        return condition_key(self.kind, self.model, self.version, self.name)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Those of all that drifts, alone or together."""
        return tuple(sorted({*self.together, *(each.group for each in self.signals)}))


def from_verdict(verdict: Verdict, model: str, version: str, width: int = 60) -> Condition:
    """The drift of one model as a condition; buckets last `width` seconds.

    It fires in state ``drift`` only: a ``warning`` is evidence of a change too small to wake
    anyone for.
    """
    drifting = [each for each in verdict.signals if each.state == "drift"]
    many = [each for each in verdict.multivariates if each.state == "drift"]
    told = [each.severity for each in drifting] + [each.severity for each in many]
    firing = verdict.state == "drift"
    said = verdict.state in ("stable", "warning", "drift")
    severities: list[Severity] = [each or "minor" for each in told] or ["moderate"]
    return Condition(
        kind="drift",
        model=model,
        version=version,
        firing=firing if said else None,
        severity=max(severities, key=SEVERITIES.index),
        since=verdict.onset,
        since_text="" if verdict.onset is None else minute(verdict.onset),
        sentence_en=sentence(verdict, "en", width),
        sentence_zh=sentence(verdict, "zh", width),
        signals=tuple(_note(each, width) for each in drifting),
        together=tuple(each.group for each in many),
        evidence_log10=verdict.evidence_log10,
        needed_log10=-math.log10(verdict.alpha) if verdict.alpha > 0 else None,
    )


def from_breaches(verdict: Verdict, model: str, version: str) -> Condition:
    """The plain limits that one model's window is beyond, as one condition of kind ``limit``."""
    breaches = verdict.breaches
    return Condition(
        kind="limit",
        model=model,
        version=version,
        firing=bool(breaches) if verdict.state != "no_data" else None,
        sentence_en=" ".join(sentence(each, "en") for each in breaches) or "All within limits.",
        sentence_zh="".join(sentence(each, "zh") for each in breaches) or "均在限值之内。",
    )


def minute(seconds: float) -> str:
    """A Unix second as the sentences of verdicts write it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%MZ")


def _note(each: SignalVerdict, width: int) -> SignalNote:
    return SignalNote(
        name=each.name,
        group=each.group,
        severity=each.severity or "minor",
        sentence=Text(sentence(each, "en", width), sentence(each, "zh", width)),
        evidence_log10=each.evidence_log10,
        psi=None if each.effect is None else each.effect.psi,
        mean_shift_sd=None if each.effect is None else each.effect.mean_shift_sd,
    )
