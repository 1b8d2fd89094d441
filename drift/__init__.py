"""The mathematics of change: pure functions of (reference, counts)."""

from .ring import Ring
from .verdict import Breach, Effect, Language, Severity, SignalVerdict, State, Verdict

__all__ = [
    "Breach",
    "Effect",
    "Language",
    "Ring",
    "Severity",
    "SignalVerdict",
    "State",
    "Verdict",
]
