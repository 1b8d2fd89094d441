"""The timeline: verdicts over time, one short entry a bucket and one a change of state."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from driftline.drift.verdict import State

from ..stores.store import Entry
from .standing import Standing

# A day of one-minute buckets.
KEEP = 1440


class Mark(Struct, frozen=True, array_like=True):
    """One signal at one time: its state, log₁₀ of its evidence, its corrected PSI."""

    state: State
    evidence: float
    psi: float | None


class Point(Struct, frozen=True):
    """All signals at Unix second `at`."""

    at: int
    state: State
    evidence: float
    onset: int | None
    requests: int
    signals: dict[str, Mark]

    @classmethod
    def of(cls, standing: Standing) -> Point:
        """The entry for a standing; numbers are rounded to three digits, to keep the log short."""
        verdict = standing.verdict
        marks = {
            each.name: Mark(
                each.state,
                round(each.evidence_log10, 3),
                None if each.effect is None else round(each.effect.psi, 4),
            )
            for each in verdict.signals
        }
        evidence = round(verdict.evidence_log10, 3)
        requests = standing.service.requests
        return cls(standing.at, verdict.state, evidence, verdict.onset, requests, marks)

    def encoded(self) -> bytes:
        """Its JSON."""
        return msgspec.json.encode(self)


def points(entries: Iterable[Entry]) -> list[Point]:
    """The entries that this version can read, in their order."""
    found = []
    for entry in entries:
        try:
            found.append(msgspec.json.decode(entry.value, type=Point))
        except msgspec.MsgspecError:
            continue
    return found
