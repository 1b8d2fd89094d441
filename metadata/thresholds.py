"""What is worth a person's attention: plain settings, carried in the metadata.

Read and checked by `driftline.drift.thresholds`; this file only says what can be set. A setting
that is None is taken from the next wider place: signal, then group, then default, then built in.
"""

from __future__ import annotations

from msgspec import Struct


class Rule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of one signal, of one group, or of all.

    - `psi`: the effect floor of signals that are not flags, as corrected PSI; evidence below it is
      a ``warning``, from it on ``drift``. Built in: 0.1.
    - `rise`: the effect floor of flags: a rate counts from ``1.5 × usual + rise`` on. Built in:
      0.01.
    - `inflation`: how many requests count as one independent one until enough buckets exist to
      estimate it. Built in: 1.
    - `mean_change`: a plain limit on ``|mean − reference mean|``, in the column's own unit, beside
      the statistical verdict. Built in: none.
    - `mean_low`, `mean_high`: plain limits on the mean itself. Built in: none.
    """

    psi: float | None = None
    rise: float | None = None
    inflation: float | None = None
    mean_change: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None


class Thresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of the verdicts.

    - `false_alarms`: the promise, ``"<number> per <number><s|m|h|d|w>"``: on average at most so
      many false alarms in that time.
    - `low_confidence`: a prediction whose top probability is lower is reported (None: never).
    - `latency_ms`: a request that takes longer is reported (None: never).
    - `accuracy_loss`: how far accuracy may fall below the packaged one before it is harm.
    """

    false_alarms: str = "1 per 30d"
    default: Rule = Rule()
    groups: dict[str, Rule] = {}
    signals: dict[str, Rule] = {}
    low_confidence: float | None = 0.3
    latency_ms: float | None = 200.0
    accuracy_loss: float = 0.05
