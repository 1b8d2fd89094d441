"""What a service needs to rate predictions without labels, and with late ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from driftline.drift.reliability import fit_reliability
from driftline.metadata.extract import Classification, Regression
from driftline.metadata.quality import Quality, UsualError
from driftline.metadata.reference import Reference
from driftline.metadata.signals import Floats

from .batches import Array
from .labels import NO_CLASS, class_codes, class_hits
from .parts import Parts

USUAL = 0.9


def rated(
    quality: Quality | None,
    reference: Reference,
    tasks: Parts,
    arrays: Mapping[str, Array],
    label: Array,
) -> Quality | None:
    """The quality with the first task's reliability, exact rows (multi-label) or usual error.

    Args:
        quality: of the first task; None where it has no notion of right.
        reference: fitted on its columns among others.
        tasks: calibrated extractors by output.
        arrays: held-out outputs by name, of the same rows as `label`.
        label: as the training holds them.
    """
    name, judge = next(iter(tasks.items()))
    if quality is None:
        return None
    if isinstance(judge, Classification) and judge.head.startswith("multilabel"):
        p = judge.probabilities(arrays[name])
        known = np.isfinite(p).all(axis=1)
        exact = ((p >= 0.5) == class_hits(label, len(judge.classes))).all(axis=1)[known]
        return replace(quality, exact_right=int(exact.sum()), exact_rows=len(exact))
    if isinstance(judge, Classification):
        predicting = [
            each for each in tasks.values() if isinstance(each, Classification | Regression)
        ]
        prefix = f"{name}." if len(predicting) > 1 else ""
        found = judge.extract(arrays[name])
        codes = class_codes(label, len(judge.classes))
        known = (codes != NO_CLASS) & np.isfinite(found[:, 0])
        right = found[known, 0] == codes[known]
        for each in reference.signals:
            column = (each.signal.group, each.signal.column)
            if column == ("output", f"{prefix}top_probability") and each.signal.kind != "flag":
                return replace(quality, reliability=fit_reliability(each, found[known, 1], right))
    if isinstance(judge, Regression) and len(judge.targets) == 1:
        truth = np.asarray(label, dtype=np.float64).reshape(len(label), -1)
        if truth.shape[1] == 1:
            return replace(quality, usual_error=_usual(judge.extract(arrays[name]) - truth))
    return quality


def _usual(error: Floats) -> UsualError | None:
    """The order statistic that nine in ten new errors stay within; None of fewer than 10 rows."""
    error = np.sort(np.abs(error[np.isfinite(error)]))
    within = int(np.ceil(USUAL * (len(error) + 1)))
    if within > len(error):
        return None
    return UsualError(limit=float(error[within - 1]), within=within, rows=len(error))
