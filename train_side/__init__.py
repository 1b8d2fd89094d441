"""MindSpore callbacks that fit what training knew and watch the training itself."""

from __future__ import annotations

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

from .fingerprint import FingerprintCallback

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
    "Vector",
]
