"""The tally: requests as they were seen → counts by series and bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.counts import Counts
from driftline.metadata.errors import DriftlineError, InputError
from driftline.metadata.extract import Tabular
from driftline.metadata.schema import ModelMetadata, TensorSpec
from driftline.metadata.signals import Floats, Group

from ..metrics.histogram import CONFIDENCE, INFERENCE
from ..named import named
from ..series import SLOW_BUCKET, Series
from ..service_signals import SERVICE, confidence_matrix, requests_matrix
from .columns import Columns
from .seen import Seen

Arrays = dict[str, NDArray[Any]]
Stacks = dict[str, list[NDArray[Any]]]
Count = Callable[[str, float], None]
Tallied = tuple[dict[tuple[str, int], Counts], dict[str, float]]


class Tally:
    """Counts requests for one package.

    How a stream of requests is cut into batches changes no count. A request that does not fit
    what the extractors take is counted as a request and, by group, as unusable.

    Args:
        metadata: of the package.
        series: the names to count under.
        low_confidence: probability under which a prediction is counted as unsure (None: none is).
        latency_ms: above it a request is counted as slow (None: none is).
    """

    def __init__(
        self,
        metadata: ModelMetadata,
        series: Series,
        *,
        low_confidence: float | None,
        latency_ms: float | None,
    ) -> None:
        self.columns = Columns(metadata)
        self.series = series
        self._metadata = metadata
        self._layout = metadata.reference.layout
        self._low_confidence = low_confidence
        self._latency_ms = latency_ms
        names = self._layout.columns.get("output", ())
        tops = [at for at, name in enumerate(names) if name.endswith("top_probability")]
        self._top = tops[0] if tops else None

    def count(self, requests: Iterable[Seen]) -> Tallied:
        """Counts by (series, start of the bucket), and counters by their names in the store."""
        width = self.series.bucket
        buckets: dict[int, list[Seen]] = {}
        for seen in requests:
            buckets.setdefault(int(seen.at) // width * width, []).append(seen)
        counts: dict[tuple[str, int], Counts] = {}
        counters: dict[str, float] = {}
        for at, batch in buckets.items():
            model, service = self._bucket(batch, counters)
            for ring in {width, SLOW_BUCKET}:
                start = at // ring * ring
                for key, each in (
                    ((self.series.model(ring), start), model),
                    ((self.series.service(ring), start), service),
                ):
                    counts[key] = counts[key] + each if key in counts else each
        return counts, counters

    def _bucket(self, batch: list[Seen], counters: dict[str, float]) -> tuple[Counts, Counts]:
        def count(name: str, by: float) -> None:
            name = self.series.counter(name)
            if by:
                counters[name] = counters.get(name, 0.0) + by

        def count_all(found: Mapping[str, float]) -> None:
            for name, by in found.items():
                count(name, by)

        model, service = self._layout.zeros(), SERVICE.zeros()
        for group in self.columns.groups:
            for matrix in self._matrices(group, batch, count):
                model = model + self._layout.count(group, matrix)
                if group == "output" and self._top is not None:
                    found = confidence_matrix(matrix[:, self._top], self._low_confidence)
                    service = service + SERVICE.count("output", found)
                    count_all(CONFIDENCE.counters(found[:, 0]))
                    count("low_confidence", float(np.nansum(found[:, 1])))
        asked = [seen for seen in batch if not seen.refused]
        seconds = np.array([seen.seconds for seen in asked])
        errors = np.array([float(seen.failed) for seen in asked])
        service = service + SERVICE.count(
            "service", requests_matrix(seconds, errors, self._latency_ms)
        )
        count_all(INFERENCE.counters(seconds))
        count("requests", len(asked))
        count("failed", float(errors.sum()))
        count("refused", len(batch) - len(asked))
        return model, service

    def _matrices(self, group: Group, batch: list[Seen], count: Count) -> Iterable[Floats]:
        """The columns of one group, of the requests that are alike together."""
        inputs = group == "input"
        values = [seen.inputs if inputs else seen.outputs for seen in batch]
        raw = [value for value in values if value is not None]
        for alike in self._alike(group, raw, count):
            yield self._matrix(group, alike, count)

    def _alike(self, group: Group, values: list[Any], count: Count) -> Iterable[Stacks]:
        """The arrays of the requests by name, those of the same types and shapes together."""
        specs = self._metadata.inputs if group == "input" else self._metadata.outputs
        alone = len(specs) == 1
        bare: dict[tuple[Any, ...], list[NDArray[Any]]] = {}
        alike: dict[tuple[Any, ...], Stacks] = {}
        for value in values:
            # Nearly every request is one array: names are then given to all of them at once.
            if alone and type(value) is np.ndarray:
                bare.setdefault((value.dtype, value.shape[1:]), []).append(value)
                continue
            try:
                arrays = self._arrays(group, value, specs)
            except (DriftlineError, ValueError, TypeError):
                count(f"unusable|{group}", 1)
                continue
            key = tuple((name, a.dtype, a.shape[1:]) for name, a in sorted(arrays.items()))
            stacks = alike.setdefault(key, {name: [] for name in arrays})
            for name, array in arrays.items():
                stacks[name].append(array)
        for (_, shape), several in bare.items():
            row = len(shape) + 2 == len(specs[0].shape)
            yield {specs[0].name: [each[None] for each in several] if row else several}
        yield from alike.values()

    def _matrix(self, group: Group, stacks: Stacks, count: Count) -> Floats:
        """The columns of all requests together; those that do not fit are left out and counted."""
        requests = len(next(iter(stacks.values()), ()))
        try:
            if not requests:
                raise InputError(group, "no array")
            joined = {name: np.concatenate(several) for name, several in stacks.items()}
            return self.columns.matrix(group, joined)
        except (DriftlineError, ValueError):
            if requests <= 1:
                count(f"unusable|{group}", 1)
                return np.empty((0, len(self._layout.columns[group])))
            # One of them is at fault; the others are to be counted.
            each = ({name: [s[at]] for name, s in stacks.items()} for at in range(requests))
            return np.concatenate([self._matrix(group, one, count) for one in each])

    def _arrays(self, group: Group, value: Any, specs: tuple[TensorSpec, ...]) -> Arrays:
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            return {specs[0].name: self._encoded(group, value)}
        found = named(value, specs)
        for spec in specs:
            array = found.get(spec.name)
            if array is not None and array.ndim == len(spec.shape) - 1:
                found[spec.name] = array[None]
        return found

    def _encoded(self, group: Group, rows: list[Any]) -> Floats:
        """Rows by column name; a value of the wrong type is a signal here, not an error."""
        for _, extractor in self.columns.part(group):
            if isinstance(extractor, Tabular):
                return extractor.encode(rows, strict=False)
        raise InputError("", "rows by column name are for tables")
