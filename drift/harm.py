"""Harm: has accuracy fallen, now that labels have arrived?

Podkopaev and Ramdas 2022, "Tracking the risk of a deployed model and detecting harmful distribution
shifts": inputs may drift as they like, harm is when errors become more frequent than a tolerance
allows. Without harm the e-value stays small with the promised probability, however often and in
whatever order labels arrive, as long as whether one arrives does not depend on what it says.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from scipy.special import betaincinv

from driftline.metadata.quality import Quality
from driftline.metadata.thresholds import Rule, Thresholds

from .episode import FIRED
from .judge import judge
from .single import Pair, single_reference, single_ring
from .thresholds import kept_by
from .verdict import Verdict


class Harm(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What labels say about accuracy.

    `accuracy` is that of the `rows` labelled predictions in the window with its 95 % interval from
    `low` to `high` (Jeffreys; for one look, not for many), None where there is none; `packaged` is
    what it was on held-out data (of a regression: the share of errors within the usual one). More
    than `tolerance` below is harm. `harmful` rests on the e-detector alone: log₁₀ of it is
    `evidence_log10`, and the promise on false alarms asks for `needed_log10`. `since` is the
    estimated onset in unix seconds.
    """

    rows: int
    accuracy: float | None
    packaged: float
    low: float | None
    high: float | None
    tolerance: float
    harmful: bool
    evidence_log10: float
    needed_log10: float
    since: int | None
    verdict: Verdict


def harm(
    quality: Quality,
    buckets: Mapping[int, Pair],
    *,
    width: int,
    thresholds: Thresholds | None = None,
    previous: Harm | None = None,
) -> Harm | None:
    """Whether accuracy fell by more than is tolerated; None if none was packaged.

    Args:
        quality: of the package. Right is, of a regression, an error within the usual one; of a
            multi-label row, that every class is.
        buckets: start of each time bucket → how many labelled predictions in it were
            (right, wrong). The caller chooses the bucket; a service counts a label when it
            arrives, however old the request is.
        width: seconds of a bucket.
        thresholds: how far accuracy may fall, and the promise on false alarms, which holds for
            this alone; where buckets are too long to keep it, a stricter one does.
        previous: what was said before.

    Raises:
        ValueError: a count is below 0.
    """
    thresholds = thresholds or Thresholds()
    tolerance = thresholds.accuracy_loss
    weights = weights_of(quality, tolerance)
    packaged = weights_of(quality, 0.0)
    if weights is None or packaged is None:
        return None
    ring = single_ring(width, buckets)
    verdict = judge(
        single_reference("wrong", "output", weights),
        ring,
        # The tolerance is the floor: no second one is wanted.
        thresholds=kept_by(
            Thresholds(false_alarms=thresholds.false_alarms, default=Rule(rise=0.0)), width
        ),
        previous=previous.verdict if previous else None,
    )
    right, wrong = (int(each) for each in ring.cells.sum(axis=0))
    low, high = jeffreys(right, wrong) if right + wrong else (None, None)
    return Harm(
        rows=right + wrong,
        accuracy=right / (right + wrong) if right + wrong else None,
        packaged=packaged[0] / sum(packaged),
        low=low,
        high=high,
        tolerance=tolerance,
        harmful=verdict.state in FIRED,
        evidence_log10=verdict.evidence_log10,
        needed_log10=-float(np.log10(verdict.alpha)),
        since=verdict.onset,
        verdict=verdict,
    )


def weights_of(quality: Quality, tolerance: float) -> tuple[float, float] | None:
    """Beta parameters (right, wrong) of a reference as large as the package's and worse by
    `tolerance`; None where the package does not say how right the model was.

    As large as the package's, so that the packaged accuracy's own sampling error is in the null.
    Rates are one-sided: being better is no evidence.
    """
    if quality.usual_error is not None:
        n, within = quality.usual_error.rows, quality.usual_error.within
        right, wrong = float(within), float(n + 1 - within)
    elif quality.exact_rows and quality.exact_right is not None:
        right = quality.exact_right + 0.5
        wrong = quality.exact_rows + 1 - right
    elif quality.accuracy is not None and quality.rows:
        right = quality.accuracy * quality.rows + 0.5
        wrong = quality.rows + 1 - right
    else:
        return None
    total = right + wrong
    rate = min(wrong / total + tolerance, 1 - 0.5 / total)
    return total * (1 - rate), total * rate


def jeffreys(right: int, wrong: int) -> tuple[float, float]:
    """The 95 % interval of a share (Brown, Cai and DasGupta 2001), its ends 0 and 1 at the ends."""
    low = float(betaincinv(right + 0.5, wrong + 0.5, 0.025)) if right else 0.0
    high = float(betaincinv(right + 0.5, wrong + 0.5, 0.975)) if wrong else 1.0
    return low, high
