"""Sessions of a training monitor without a training."""

from __future__ import annotations

from pathlib import Path

from driftline.train_side.plan import Plan
from driftline.train_side.session import Session
from driftline.train_side.settings import MonitorSettings


def opened(folder: Path) -> Session:
    """One that measures nothing, looks for nothing and tells nobody: a journal, and its worker."""
    plan = Plan(
        folder=folder,
        settings=MonitorSettings(),
        probes=(),
        gauges=(),
        rules=(),
        sinks=(),
        policies={},
    )
    return plan.open(about={})
