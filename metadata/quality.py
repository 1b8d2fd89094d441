"""What held-out data said about the model: calibration, accuracy, latency, health."""

from __future__ import annotations

from msgspec import Struct

# Seconds, evenly spaced in their logarithm. Fixed, so that a package's timings and a service's can
# be compared cell by cell; they never change within a major version of the format.
LATENCY_EDGES: tuple[float, ...] = tuple(float(f"{10 ** (-4 + 6 * i / 63):.4g}") for i in range(64))


class Reliability(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How often predictions of like confidence were right, over the cells of a signal.

    For each cell of `signal` (the top probability) the held-out `rows` in it, how many of them were
    `right`, and the mean of their calibrated `confidence`, None in an empty cell. Confidences above
    `threshold` make up the same share of all these rows as those that were right (Garg et al. 2022,
    "Leveraging Unlabeled Data to Predict Out-of-Distribution Performance").
    """

    signal: str
    rows: tuple[int, ...]
    right: tuple[int, ...]
    confidence: tuple[float | None, ...]
    threshold: float


class UsualError(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A regression's error that nine in ten held-out rows stay within.

    `limit` is the `within`-th smallest absolute error of `rows`, so that the share of new errors
    beyond it is, without a change, exactly one draw from Beta(rows + 1 − within, within).
    """

    limit: float
    within: int
    rows: int


class Quality(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How right and how sure the model was on the reference data.

    `temperature` divides the logits so that confidence matches accuracy (Guo et al. 2017, "On
    Calibration of Modern Neural Networks"); `ece_before` and `ece_after` are the expected
    calibration errors (15 equal-width bins) without and with it. `confusion[i][j]` counts rows of
    true class i predicted as j. `reliability` is there where each row has one class; a multi-label
    model's accuracy and confusion are of decisions class by class, and `exact_right` of
    `exact_rows` rows had every class right. For regression `mae`, `rmse` and, with one target,
    `usual_error` stand in their place.
    """

    rows: int
    accuracy: float | None = None
    temperature: float | None = None
    ece_before: float | None = None
    ece_after: float | None = None
    confusion: tuple[tuple[int, ...], ...] | None = None
    reliability: Reliability | None = None
    exact_right: int | None = None
    exact_rows: int | None = None
    mae: float | None = None
    rmse: float | None = None
    usual_error: UsualError | None = None


class LatencyBaseline(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Seconds a single-row prediction took on the packaging host.

    `edges` and `counts` are the timings over fixed cells, so that a service compares counts with
    counts; `host` is the fingerprint of the machine, without which the numbers mean nothing.
    """

    p50: float
    p95: float
    p99: float
    calls: int
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    host: str


class LossCurve(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The least-squares fit ``loss = floor + scale · (step + 1) ** -power`` of the training loss.

    `residual` is the root mean square of what the fit leaves over; `points` how many it saw.
    """

    floor: float
    scale: float
    power: float
    residual: float
    points: int
    final: float


class Event(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something a rule found during training."""

    rule: str
    step: int
    severity: str
    sentence: str


class Health(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fingerprint by which a later reader judges the checkpoint.

    Only what was measured is there; None says that it was not. Gradient norms are those the
    optimizer received. `quantiles` are the 5th, 50th and 95th percentile over sampled steps.
    """

    steps: int
    epochs: int
    seconds: float
    rows_seen: int | None = None
    final_loss: float | None = None
    best_loss: float | None = None
    loss_by_epoch: tuple[float, ...] = ()
    loss_sd_by_epoch: tuple[float, ...] = ()
    finite: bool | None = None
    gradient_norm_quantiles: tuple[float, ...] | None = None
    worst_layers: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    rows_per_second: float | None = None
    precision: str | None = None
    loss_scale: float | None = None
    overflows: int | None = None
    seed: int | None = None
    ranks: int = 1
