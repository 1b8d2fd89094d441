"""One signal in detail: its cells in reference and window, moments, and its timeline."""

from __future__ import annotations

import math
import time
from typing import Any

from driftline.metadata.moments import COUNT, HIGH, LOW, M2, MEAN
from driftline.metadata.schema import ModelMetadata
from driftline.metadata.signals import Categorical, Continuous

from ..series import Series
from ..stores.store import Store
from . import report
from .standing import Standing, evidence
from .timeline import Point


def detail(
    name: str,
    metadata: ModelMetadata,
    store: Store,
    series: Series,
    standing: Standing | None,
    timeline: list[Point],
    *,
    now: float | None = None,
) -> dict[str, Any]:
    """What ``/drift/signals/<name>`` answers; the window is the fast ring's at `now`.

    Raises:
        StoreError: the counts cannot be read just now.
    """
    reference = metadata.reference
    each = next(one for one in reference.signals if one.name == name)
    layout = reference.layout
    width = series.bucket
    start = int(time.time() if now is None else now) // width * width - series.widths[width] + width
    window = layout.zeros()
    buckets = store.read(series.model(width), layout, start, start + 2**32)
    for counts in buckets.values():
        window = window + counts
    cells = window.of(name).tolist()
    total, weight = sum(cells), sum(each.weights)
    verdicts = standing.verdict.signals if standing else ()
    column = next(
        one
        for one in reference.columns
        if (one.group, one.name) == (each.signal.group, each.signal.column)
    )
    count, mean, m2, low, high = window.moments[
        layout.rows[each.signal.group, each.signal.column], [COUNT, MEAN, M2, LOW, HIGH]
    ].tolist()
    return {
        "name": name,
        "group": each.signal.group,
        "column": each.signal.column,
        "kind": each.signal.kind,
        "verdict": next((report.signal(one) for one in verdicts if one.name == name), None),
        "cells": {
            **_partition(each.signal.partition, each.labels),
            "reference": [value / weight for value in each.weights],
            "window": [value / total if total else None for value in cells],
            "counts": cells,
        },
        "moments": {
            "reference": {
                "count": column.count,
                "mean": column.mean,
                "sd": column.sd,
                "low": column.low,
                "high": column.high,
            },
            "window": {
                "count": int(count),
                "mean": mean if count else None,
                "sd": math.sqrt(m2 / (count - 1)) if count > 1 else None,
                "low": low if count else None,
                "high": high if count else None,
            },
        },
        "buckets": [
            {"at": report.iso(at), "counts": counts.of(name).tolist()}
            for at, counts in buckets.items()
        ],
        "timeline": [
            {
                "at": report.iso(point.at),
                "state": point.signals[name].state,
                "evidence": evidence(point.signals[name].evidence),
                "psi": point.signals[name].psi,
            }
            for point in timeline
            if name in point.signals
        ],
    }


def _partition(partition: Any, labels: tuple[str, ...]) -> dict[str, Any]:
    told: dict[str, Any] = {"labels": list(labels)}
    if isinstance(partition, Continuous):
        told["edges"] = list(partition.edges)
    elif isinstance(partition, Categorical):
        told["values"] = list(partition.values)
    return told
