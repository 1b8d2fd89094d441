"""A verdict: what is said about a window of counts, frozen and ready for JSON.

Times are unix seconds of bucket starts. Nothing here computes; `judge` fills it in.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from driftline.metadata.signals import Group

State = Literal["no_data", "insufficient_data", "stable", "warning", "drift"]
Severity = Literal["minor", "moderate", "major"]
Language = Literal["en", "zh"]

# The least that log₁₀ of evidence is told as: what has no data has it.
NO_EVIDENCE = -300.0


class Effect(Struct, frozen=True, forbid_unknown_fields=True):
    """How far a signal's window lies from its reference; None where a measure has no meaning.

    - `psi`: population stability index minus what chance alone would give, at least 0;
    - `js`: Jensen–Shannon distance, natural logarithm, 0 to 0.833;
    - `w1_sd`: Wasserstein-1 distance in reference standard deviations (continuous only);
    - `mean_shift_sd`: shift of the mean in reference standard deviations (continuous only);
    - `missing_change`: change of the missing rate of the signal's column;
    - `cell`, `rate`, `reference_rate`: the cell that moved most, in words, with its share in the
      window and in the reference; for a flag the share where it is true.
    """

    psi: float
    js: float
    w1_sd: float | None = None
    mean_shift_sd: float | None = None
    missing_change: float | None = None
    cell: str = ""
    rate: float | None = None
    reference_rate: float | None = None


class MemberVerdict(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One member's part of a verdict: a signal's, or that of several together.

    `evidence_log10` is log₁₀ of the e-detector M, `NO_EVIDENCE` without data. The effect is
    measured over the buckets since `onset`, or over the whole window where there is no onset;
    `window_size` counts the values behind it. `needed` is the number of values at which an effect
    at the floor would be seen; `inflation` how many requests were taken for one independent one.
    After a change that ended `quiet_since` is when it had; what came before is forgotten.
    """

    name: str
    group: Group
    state: State
    evidence_log10: float
    severity: Severity | None
    onset: int | None
    reference_size: int
    window_size: int
    needed: int
    inflation: float
    sentence: str
    quiet_since: int | None = None


class SignalVerdict(MemberVerdict, frozen=True, kw_only=True):
    """One signal's part of a verdict."""

    kind: str
    effect: Effect | None


class MultivariateVerdict(MemberVerdict, frozen=True, kw_only=True):
    """What is said about several signals of one group together.

    `distance` is the length of their shift in standard deviations (Mahalanobis, of normal scores,
    less what chance alone would give), and `moved` names those that moved most with each one's own
    part in it, largest first.
    """

    distance: float
    moved: dict[str, float]


class Breach(Struct, frozen=True, forbid_unknown_fields=True):
    """A plain limit that the window's mean is beyond; it stands beside the state, not in it."""

    column: str
    limit: Literal["mean_change", "mean_low", "mean_high"]
    allowed: float
    found: float
    sentence: str


class Verdict(Struct, frozen=True, forbid_unknown_fields=True):
    """What is said about all signals together.

    `alpha` is the false-alarm probability allowed a bucket; the evidence needed is 1/alpha.
    `window_from` and `window_to` bound the window (start of its first bucket, end of its last);
    `independent` says that requests were assumed to be independent, since too few buckets exist
    to estimate how bursty they are.
    """

    state: State
    evidence_log10: float
    onset: int | None
    window_from: int | None
    window_to: int | None
    window_rows: int
    alpha: float
    independent: bool
    signals: tuple[SignalVerdict, ...]
    breaches: tuple[Breach, ...]
    sentence: str
    multivariates: tuple[MultivariateVerdict, ...] = ()
