"""The engine: one package, loaded, watched and ready to answer; what each worker has one of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.package import ModelPackage
from driftline.metadata.signals import Floats, Group

from ..hooks.monitor import InferenceMonitor
from ..hooks.seen import Seen
from .answers import Answer, Answers, Oddities, Warning_
from .predictor import Arrays, Predictor
from .signature import checked, refuse_missing


class Engine:
    """Checks, predicts, watches and explains.

    Args:
        package: what is served.
        predictor: its model.
        monitor: which sees every request.
        most: rows that one request may have.
    """

    def __init__(
        self,
        package: ModelPackage,
        predictor: Predictor,
        monitor: InferenceMonitor,
        *,
        most: int = 1024,
    ) -> None:
        self.package = package
        self.metadata = package.metadata
        self.monitor = monitor
        self.columns = monitor.plan.columns
        self._predictor = predictor
        self._most = most
        self._answers = Answers(self.metadata, self.columns)
        self._oddities = Oddities(
            self.metadata, low_confidence=monitor.plan.thresholds.low_confidence
        )
        groups = set(self.columns.groups)
        # The hooks' copy of an array is needed only where no column matrix stands for it.
        self._explained: tuple[Group, ...] = tuple(
            group for group in ("input", "output") if group in groups
        )
        self._raw_outputs = "embedding" in groups

    def infer(self, arrays: Mapping[str, NDArray[Any]], field: str) -> tuple[Arrays, Seen]:
        """The outputs by name, with what the hooks saw.

        Missing values that the signature does not allow are refused, but counted by the monitor:
        a feed that broke shows in the missing rates and not in error logs only.

        Raises:
            InputError: the arrays do not fit the signature; names `field` or the input.
        """
        fitting = checked(arrays, self.metadata.inputs, self._most, field)
        seen = self.monitor.before(fitting)
        try:
            refuse_missing(fitting, self.metadata.inputs, field)
            outputs = self._predictor.predict(fitting)
        except InputError:
            self.monitor.after(seen, refused=True)
            raise
        except Exception:
            self.monitor.after(seen, failed=True)
            raise
        self._extract(seen, fitting, outputs)
        self.monitor.after(seen, outputs if seen.matrices is None or self._raw_outputs else None)
        return outputs, seen

    def explain(self, outputs: Arrays, seen: Seen) -> tuple[list[Answer], list[Warning_]]:
        """The predictions for people, and what is odd about them."""
        matrices = seen.matrices or {}
        warnings = self._oddities.warnings(matrices.get("input"), matrices.get("output"))
        return self._answers.predictions(outputs), warnings

    def _extract(self, seen: Seen, inputs: Arrays, outputs: Arrays) -> None:
        """Columns that the warnings need now, and the monitor later."""
        found: dict[Group, Floats] = {}
        try:
            for group in self._explained:
                found[group] = self.columns.matrix(group, inputs if group == "input" else outputs)
        except Exception as error:
            self.monitor.fence.caught("extract", error)
            return
        seen.matrices = found
        seen.inputs = None
