"""MindSpore callbacks that fit what training knew and watch the training itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftline.metadata.extract import (
    Category,
    Classification,
    Image,
    Number,
    Regression,
    Tabular,
    Tokens,
    Vector,
)
from driftline.metadata.thresholds import Rule, Thresholds

if TYPE_CHECKING:
    from .fingerprint import FingerprintCallback
    from .monitor import TrainingMonitor

__all__ = [
    "Category",
    "Classification",
    "FingerprintCallback",
    "Image",
    "Number",
    "Regression",
    "Rule",
    "Tabular",
    "Thresholds",
    "Tokens",
    "TrainingMonitor",
    "Vector",
]


def __getattr__(name: str) -> Any:
    # The callbacks need MindSpore, which takes seconds to import; all else here does without.
    if name == "FingerprintCallback":
        from .fingerprint import FingerprintCallback

        return FingerprintCallback
    if name == "TrainingMonitor":
        from .monitor import TrainingMonitor

        return TrainingMonitor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
