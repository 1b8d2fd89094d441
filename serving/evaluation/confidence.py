"""How many predictions were of little confidence on the reference data, under any limit. Pure."""

from __future__ import annotations

import numpy as np

from driftline.metadata.extract import EXTRACTORS, Classification
from driftline.metadata.reference import SignalReference
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Continuous

TOP, LOW = "top_probability", "low_confidence"


def usual_share(metadata: ModelMetadata, limit: float | None) -> float | None:
    """The share of the reference's predictions whose top probability is under `limit`.

    Counted where the package counted under the same limit; under any other it is read off the
    cells of the top probability, evenly within a cell. None where there is no limit, or the
    reference does not know its top probabilities.
    """
    top = _signal(metadata, TOP)
    if limit is None or top is None or not isinstance(top.signal.partition, Continuous):
        return None
    low = _signal(metadata, LOW)
    if low is not None and limit == threshold(metadata):
        return low.weights[1] / sum(low.weights)
    column = next(
        each
        for each in metadata.reference.columns
        if (each.group, each.name) == ("output", top.signal.column)
    )
    if column.low is None or column.high is None:
        return None
    edges = np.array([column.low, *top.signal.partition.edges, column.high])
    # Cells were chosen on a part of the sample: its ends may lie within the outermost ones.
    edges = np.maximum.accumulate(np.clip(edges, column.low, column.high))
    reached = np.concatenate([[0.0], np.cumsum(top.weights)]) / sum(top.weights)
    if limit > column.high:
        return 1.0
    if limit <= column.low:
        return 0.0
    # A value that stands alone begins a cell, and is not under a limit that equals it.
    right = int(np.searchsorted(edges, limit, side="left"))
    within = (limit - edges[right - 1]) / (edges[right] - edges[right - 1])
    return float(reached[right - 1] + within * (reached[right] - reached[right - 1]))


def threshold(metadata: ModelMetadata) -> float | None:
    """The limit that the package's own signal of little confidence is cut at; None without it."""
    low = _signal(metadata, LOW)
    for each in metadata.extractions:
        if low is None or each.group != "output" or low.signal.column != each.prefix + LOW:
            continue
        extractor = EXTRACTORS.decode(each.extractor, "extractor")
        return extractor.threshold if isinstance(extractor, Classification) else None
    return None


def _signal(metadata: ModelMetadata, name: str) -> SignalReference | None:
    """The first output's, as the service counts that one's confidence."""
    return next(
        (
            each
            for each in metadata.reference.signals
            if each.signal.group == "output"
            and each.signal.column.endswith(name)
            and each.name.endswith(name)
        ),
        None,
    )
