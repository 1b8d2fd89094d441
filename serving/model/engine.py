"""The engine: one package, loaded, watched and ready to answer; what each worker has one of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from numpy.typing import NDArray

from driftline.metadata.errors import InputError
from driftline.metadata.package import ModelPackage
from driftline.metadata.preprocess.pillow import MOST_PIXELS

from ..hooks.monitor import InferenceMonitor
from .answered import Answered, Answering
from .batcher import Batcher
from .intake import Intake
from .predictor import Arrays, Predictor
from .preprocessing import preprocessings
from .signature import checked, refuse_missing
from .watched import Watched


class Batching(Struct, frozen=True, kw_only=True):
    """How requests are joined: to one of `sizes` rows, waiting `seconds` for each other."""

    sizes: tuple[int, ...]
    seconds: float


class Engine(Watched):
    """Checks, predicts, watches and explains.

    Args:
        package: what is served.
        predictor: its model.
        monitor: which sees every request.
        most: rows that one request may have.
        most_pixels: of its images together, before resizing.
        batching: None calls the model once for each request.
    """

    def __init__(
        self,
        package: ModelPackage,
        predictor: Predictor,
        monitor: InferenceMonitor,
        *,
        most: int = 1024,
        most_pixels: int = MOST_PIXELS,
        batching: Batching | None = None,
    ) -> None:
        super().__init__(package, monitor)
        self.predictor = predictor
        self._most = most
        self.intake = Intake(
            self.metadata,
            preprocessings(self.metadata, self.columns),
            most=most,
            most_pixels=most_pixels,
        )
        self._answering = Answering(
            predictor,
            self.metadata,
            self.columns,
            # Looked up each time: a monitor has another fence after a fork.
            lambda place, error: monitor.fence.caught(place, error),
            low_confidence=monitor.plan.thresholds.low_confidence,
        )
        self._answer: Callable[[Arrays, bool], Answered] = self._answering.answer
        if batching is not None and batching.sizes[-1] > 1:
            self._answer = Batcher(self._answer, sizes=batching.sizes, wait=batching.seconds)

    def infer(
        self,
        arrays: Mapping[str, NDArray[Any]],
        field: str,
        *,
        explained: bool = False,
        request_id: str = "",
    ) -> Answered:
        """The outputs by name; when `explained`, with predictions and warnings for people.

        Missing values that the signature does not allow are refused, but counted by the monitor:
        a feed that broke shows in the missing rates and not in error logs only. With a
        `request_id` the answer waits for its labels.

        Raises:
            InputError: the arrays do not fit the signature; names `field` or the input.
        """
        fitting: Arrays = checked(arrays, self.metadata.inputs, self._most, field)
        seen = self.monitor.before(bare(fitting))
        try:
            refuse_missing(fitting, self.metadata.inputs, field)
            answered = self._answer(fitting, explained)
        except InputError:
            self.monitor.after(seen, refused=True)
            raise
        except Exception:
            self.monitor.after(seen, failed=True)
            raise
        seen.request_id = request_id
        self.monitor.after(seen, bare(answered.outputs))
        return answered


def bare(arrays: Arrays) -> Arrays | NDArray[Any]:
    """The only array, if there is only one: what has no name is counted quicker."""
    return next(iter(arrays.values())) if len(arrays) == 1 else arrays
