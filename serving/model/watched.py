"""A model that is watched, wherever it runs: its package, its monitor, and how labels judge it."""

from __future__ import annotations

from driftline.metadata.package import ModelPackage

from ..hooks.monitor import InferenceMonitor


class Watched:
    """What the routes that tell of a model need of it."""

    def __init__(self, package: ModelPackage, monitor: InferenceMonitor) -> None:
        self.package = package
        self.metadata = package.metadata
        self.monitor = monitor
        self.columns = monitor.plan.columns
        self.claims = monitor.plan.claims
