"""The mathematics of change: pure functions of (reference, counts)."""

from .evidence import log_evidence
from .judge import judge
from .ring import Ring
from .sentences import sentence
from .thresholds import check_thresholds, read_thresholds
from .verdict import (
    Breach,
    Effect,
    Language,
    MultivariateVerdict,
    Severity,
    SignalVerdict,
    State,
    Verdict,
)

__all__ = [
    "Breach",
    "Effect",
    "Language",
    "MultivariateVerdict",
    "Ring",
    "Severity",
    "SignalVerdict",
    "State",
    "Verdict",
    "check_thresholds",
    "judge",
    "log_evidence",
    "read_thresholds",
    "sentence",
]
