"""A model that is watched, wherever it runs: its package, its monitor, and how labels judge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from driftline.metadata.package import ModelPackage

from ..feedback.claims import Claims
from ..hooks.monitor import InferenceMonitor


class Watched:
    """What the routes that tell of a model need of it."""

    def __init__(self, package: ModelPackage, monitor: InferenceMonitor) -> None:
        self.package = package
        self.metadata = package.metadata
        self.monitor = monitor
        self.columns = monitor.plan.columns
        self._first = self.metadata.outputs[0].name
        self.claims = Claims(self.metadata, self.columns)

    def remember(
        self, request_id: str, outputs: Any, predictions: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Keeps what a request was answered until its labels come; fails no request.

        `outputs` is an array, or arrays by name. Of a monitor that is closed nothing is kept.
        """
        if self.monitor.closed:
            return
        try:
            named = outputs if isinstance(outputs, Mapping) else {self._first: outputs}
            if (claims := self.claims.of(named, predictions)) is not None:
                self.monitor.session.memory.remember(request_id, claims)
        except Exception as error:
            self.monitor.fence.caught("remember", error)
