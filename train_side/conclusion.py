"""The end of a training: reference pass, export, package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from driftline.metadata.package import ModelPackage, Role
from driftline.metadata.quality import Health
from driftline.metadata.reference import Source
from driftline.metadata.schema import ModelInfo

from .export import export
from .latency import latency_baseline
from .loss_curve import Floats, fit_loss_curve
from .monitor import TrainingMonitor
from .network import Cell, as_serving, parameters_finite, precision_of, predict
from .order import Order
from .packaging import Serving, Training, assembled, concluded, framework
from .ranks import exchanged, rank_and_size
from .reference_pass import merged_passes
from .reference_run import ReferenceRun
from .scratch import scratch
from .statistics import DataStatistics
from .watch import TrainingWatch

# Of the samples: the same training gives the same reference.
SEED = 0
STAND_IN = (
    "No held-out reference was given: batches of the training data stand in. Confidences and "
    "accuracy are then optimistic, and drift may be seen where there is only new data."
)


@dataclass(frozen=True)
class Seen:
    """What a monitor has seen of the run, over all its lives; `losses` by step."""

    health: Health
    losses: tuple[Floats, Floats]


@dataclass(frozen=True)
class Ended:
    """A training that has run to its end on this rank."""

    network: Cell
    watch: TrainingWatch
    dataset: Any
    loss_scale: float | None
    monitored: Seen | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Share:
    """What one rank has seen of the training data: statistics, and rows trained on."""

    statistics: DataStatistics
    rows: int


def write_package(order: Order, ended: Ended, shares: Sequence[Share]) -> ModelPackage | None:
    """The package, written by rank 0; None on the others. Every rank has to call it.

    Args:
        order: what was asked for.
        ended: this rank's training.
        shares: every rank's, in their order.

    Raises:
        Exception: whatever went wrong here; nothing is at the path that was not there before.
        OtherRankFailed: it went wrong on another rank.
    """
    rank, ranks = rank_and_size()
    stats = _merged([share.statistics for share in shares], ended.notes)
    with as_serving(ended.network):
        run = ReferenceRun(order, ended.network, ended.dataset, stats, rank)
        found = merged_passes(exchanged(run.run))
        if rank:
            return None
        source: Source = "training_batches" if order.reference is None else "held_out"
        findings = concluded(found, source=source, seed=SEED)
        if order.reference is None:
            ended.notes.append(STAND_IN)
        training = _training(ended, stats, rows=sum(each.rows for each in shares), ranks=ranks)
        with scratch(order.path) as folder:
            exported = export(
                ended.network, run.inputs.specs, run.first.inputs, run.first_outputs, folder
            )
            ended.notes.extend([exported.note] if exported.note else [])
            serves = ended.network if exported.graph is None else exported.graph
            one = [each[:1] for each in run.first.inputs]
            latency = latency_baseline(lambda: predict(serves, one))
            metadata = assembled(
                _info(order, ended.network),
                training,
                findings,
                Serving(exported.inputs, run.outputs.specs, latency, framework()),
                thresholds=order.thresholds,
                notes=ended.notes,
            )
            files: dict[Role, Path | str] = {"checkpoint": exported.checkpoint}
            if exported.model is not None:
                files["model"] = exported.model
            return ModelPackage.write(order.path, order.declared(metadata), files)


def monitored(params: Any) -> Seen | None:
    """What a `TrainingMonitor` among the training's callbacks found, wherever it stands there."""
    for callback in params.get("list_callback") or ():
        if isinstance(callback, TrainingMonitor):
            health = callback.health()
            return None if health is None else Seen(health, callback.losses())
    return None


def _merged(shares: list[DataStatistics], notes: list[str]) -> DataStatistics:
    """All ranks' statistics in those of rank 0, whose extractors then hold on every rank."""
    first, *others = shares
    for rank, each in enumerate(others, start=1):
        if not first.merge(each):
            notes.append(
                f"Column statistics of rank {rank} were fitted otherwise and are left out."
            )
    if first.unknown_labels:
        notes.append(
            f"{first.unknown_labels} of {first.rows} training labels are none of the classes."
        )
    return first


def _training(ended: Ended, stats: DataStatistics, *, rows: int, ranks: int) -> Training:
    health = ended.watch.health(
        finite=parameters_finite(ended.network),
        precision=precision_of(ended.network),
        scale=ended.loss_scale,
    )
    rate = rows / health.seconds if health.seconds > 0 else None
    health = replace(health, rows_seen=rows, rows_per_second=rate, ranks=ranks)
    seen = ended.monitored.health if ended.monitored is not None else None
    losses = ended.watch.losses.series()
    if ended.monitored is not None and seen is not None and seen.steps > health.steps:
        # The run had lives before this one, of which only the monitor knows.
        losses = ended.monitored.losses
        health = replace(
            health,
            steps=seen.steps,
            epochs=seen.epochs,
            seconds=seen.seconds,
            rows_seen=seen.rows_seen,
            best_loss=seen.best_loss,
            loss_by_epoch=seen.loss_by_epoch,
            loss_sd_by_epoch=seen.loss_sd_by_epoch,
            finite=health.finite and seen.finite,
            rows_per_second=seen.rows_per_second,
        )
    if seen is not None:
        health = replace(
            health,
            gradient_norm_quantiles=seen.gradient_norm_quantiles,
            worst_layers=seen.worst_layers,
            events=seen.events,
            loss_scale=health.loss_scale if seen.loss_scale is None else seen.loss_scale,
            overflows=seen.overflows,
        )
    return Training(stats.stats(), health, fit_loss_curve(*losses))


def _info(order: Order, network: Cell) -> ModelInfo:
    return ModelInfo(
        name=order.model_name,
        version=order.model_version,
        architecture=type(network).__name__,
        parameters=sum(int(each.size) for each in network.get_parameters()),
    )
