"""Small pictures of signals: the shares of cells in reference and window, a few bars each."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from driftline.metadata.counts import Counts
from driftline.metadata.reference import Reference, SignalReference
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Categorical, Continuous, Floats

from ..series import Series
from ..service_signals import SERVICE
from ..stores.store import Store

BARS = 20
MOST_CLASSES = 40


def pictures(metadata: ModelMetadata, series: Series, store: Store) -> dict[str, Any]:
    """For every signal its bars; latency and confidence over their own cells.

    Raises:
        StoreError: the counts cannot be read just now.
    """
    reference, width = metadata.reference, series.bucket
    start = int(time.time()) // width * width - series.widths[width] + width
    window = reference.layout.zeros()
    for counts in store.read(series.model(width), reference.layout, start, 2**62).values():
        window = window + counts
    service = SERVICE.zeros()
    for counts in store.read(series.service(width), SERVICE, start, 2**62).values():
        service = service + counts
    return {
        "signals": {each.name: bars(each, window) for each in reference.signals},
        "classes": _classes(reference, window, metadata.class_names),
        "confidence": _service_cells(service, "confidence", None),
        "latency": _service_cells(
            service,
            "latency",
            None if metadata.latency is None else np.asarray(metadata.latency.counts, float),
        ),
    }


def bars(each: SignalReference, window: Counts) -> dict[str, Any]:
    """At most `BARS` bars, each of as many neighbouring cells."""
    usual = np.asarray(each.weights, dtype=np.float64)
    found = window.of(each.name).astype(np.float64)
    if isinstance(each.signal.partition, Categorical) and len(usual) > BARS:
        # The last cell is "other": what is rare joins it.
        order = np.argsort(-usual[:-1], kind="stable")
        keep, rest = order[: BARS - 1], order[BARS - 1 :]
        usual = np.append(usual[keep], usual[rest].sum() + usual[-1])
        found = np.append(found[keep], found[rest].sum() + found[-1])
    else:
        starts = np.arange(0, len(usual), -(-len(usual) // BARS))
        usual, found = np.add.reduceat(usual, starts), np.add.reduceat(found, starts)
    return {
        "kind": each.signal.kind,
        "reference": _shares(usual),
        "window": _shares(found),
    }


def _classes(
    reference: Reference, window: Counts, classes: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Shares by class of each categorical output; the last cell, all the rest, has no name."""
    told = []
    for each in reference.signals:
        partition = each.signal.partition
        if each.signal.group != "output" or not isinstance(partition, Categorical):
            continue
        names = list(each.labels) or [
            classes[int(value)] if value in range(len(classes)) else f"{value:g}"
            for value in partition.values
        ]
        usual = _shares(np.asarray(each.weights, dtype=np.float64))
        found = _shares(window.of(each.name).astype(np.float64))
        rows = [
            {
                "name": names[at] if at < len(names) else None,
                "reference": usual[at],
                "window": found[at] if found else None,
            }
            for at in range(len(usual))
        ]
        told.append({"signal": each.name, "classes": rows[:MOST_CLASSES]})
    return told


def _service_cells(counts: Counts, name: str, reference: Floats | None) -> dict[str, Any]:
    partition = SERVICE.signals[SERVICE.position[name]].partition
    assert isinstance(partition, Continuous)
    return {
        "edges": list(partition.edges),
        "window": _shares(counts.of(name).astype(np.float64)),
        "reference": [] if reference is None else _shares(reference),
    }


def _shares(values: Floats) -> list[float]:
    """Shares of the sum; none where that is 0."""
    total = float(values.sum())
    return [round(each / total, 6) for each in values.tolist()] if total > 0 else []
