"""Model quality without labels: what accuracy the window's predictions can be expected to have."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from driftline.metadata.quality import Quality
from driftline.metadata.reference import Reference
from driftline.metadata.signals import Categorical, Floats

from .label_shift import LabelShift, label_shift
from .reliability import atc, cbpe
from .verdict import Verdict

CLASS = "predicted_class"
CONFIDENCE = "top_probability"


class Estimate(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The accuracy that `rows` predictions without labels can be expected to have.

    `packaged` is what it was on held-out data; `cbpe` the estimate with its 95 % interval from
    `low` to `high`, and `atc` beside it: where the two differ by much, neither is to be relied on.
    `label_shift` is there where classes are predicted. `unreliable` says why the estimate should
    not be trusted, ``""`` if nothing speaks against it: all of it assumes that what is right has
    not changed, and that confidence still means what it did.
    """

    rows: int
    packaged: float | None
    cbpe: float
    low: float
    high: float
    atc: float
    label_shift: LabelShift | None
    unreliable: str


def estimate(
    quality: Quality | None,
    reference: Reference,
    cells: Floats,
    *,
    mean: float | None = None,
    verdict: Verdict | None = None,
) -> Estimate | None:
    """The estimate from flat counts in the reference's layout; None without what it takes.

    Args:
        quality: of the package; its reliability is what the estimate rests on.
        reference: of the package.
        cells: counts of the window, shape ``[layout.total]``.
        mean: the mean top probability in the window, if known.
        verdict: on the same window, for what speaks against the estimate.
    """
    known = quality.reliability if quality else None
    if quality is None or known is None or sum(known.rows) == 0:
        return None
    layout = reference.layout

    def of(position: int) -> Floats:
        start, end = layout.offsets[position : position + 2]
        return np.asarray(cells[start:end], dtype=np.float64)

    confidences = of(layout.position[known.signal])
    if not confidences.sum():
        return None
    middle, low, high = cbpe(known, confidences, mean)
    shift = None
    # The classes stand beside the confidence, under the same prefix.
    name = known.signal.removesuffix(CONFIDENCE) + CLASS
    if quality.confusion is not None and name in layout.position:
        partition = layout.signals[layout.position[name]].partition
        if isinstance(partition, Categorical):
            shift = label_shift(quality.confusion, partition.values, of(layout.position[name]))
    return Estimate(
        rows=int(confidences.sum()),
        packaged=quality.accuracy,
        cbpe=middle,
        low=low,
        high=high,
        atc=atc(known, confidences),
        label_shift=shift,
        unreliable=doubts(reference, verdict),
    )


def doubts(reference: Reference, verdict: Verdict | None) -> str:
    """What speaks against an estimate without labels; ``""`` if nothing does."""
    if verdict is not None:
        major = [
            each.name
            for each in verdict.signals
            if each.group in ("input", "embedding")
            and each.state == "drift"
            and each.severity == "major"
        ]
        if major:
            more = f" and {len(major) - 3} more" if len(major) > 3 else ""
            return f"major drift of {', '.join(major[:3])}{more}"
    if reference.source == "training_batches":
        return "the reference is of training batches, where confidence is optimistic"
    return ""
