"""The end of a training: reference pass, export, package. Two exchanges between ranks."""

from __future__ import annotations

import itertools
import logging
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driftline.metadata.errors import InputError
from driftline.metadata.package import ModelPackage
from driftline.metadata.reference import Source
from driftline.metadata.schema import ModelInfo, ModelMetadata
from driftline.metadata.thresholds import Thresholds

from .batches import Batch, batches, input_names
from .export import check, export
from .latency import latency_baseline
from .loss_curve import fit_loss_curve
from .network import Cell, as_serving, parameters_finite, precision_of, predict
from .packaging import Serving, Training, assembled, concluded
from .parts import Chosen, parts_of
from .ranks import exchanged, rank_and_size
from .reference_pass import ReferencePass, merged_passes
from .signature import Signature
from .statistics import DataStatistics
from .watch import TrainingWatch

log = logging.getLogger("driftline")

# Without a reference so many training rows stand in: as many as a sample keeps.
STAND_IN_ROWS = 20_000
# Rows on which the exported graph is compared with the network.
CHECKED_ROWS = 7
STAND_IN = (
    "No held-out reference was given: batches of the training data stand in. Confidences and "
    "accuracy are then optimistic, and drift may be seen where there is only new data."
)


@dataclass(frozen=True)
class Order:
    """What the user asked for."""

    path: Path
    inputs: Chosen
    task: Chosen
    model_name: str
    model_version: str
    reference: Any
    thresholds: Thresholds | None


@dataclass(frozen=True)
class Ended:
    """A training that has run to its end on this rank."""

    network: Cell
    watch: TrainingWatch
    dataset: Any
    loss_scale: float | None
    notes: list[str] = field(default_factory=list)


def write_package(
    order: Order, ended: Ended, statistics: Callable[[], DataStatistics]
) -> ModelPackage | None:
    """The package, written by rank 0; None on the others.

    Every rank has to call it, with `statistics` raising where something went wrong before: then
    no rank writes.

    Raises:
        Exception: whatever went wrong here; nothing is at the path that was not there before.
        OtherRankFailed: it went wrong on another rank.
    """
    stats = _merged(exchanged(statistics), ended.notes)
    with as_serving(ended.network):
        rank, ranks = rank_and_size()
        pass_ = _Pass(order, ended, stats, rank)
        found = merged_passes(exchanged(pass_.run))
        if rank:
            return None
        source: Source = "training_batches" if order.reference is None else "held_out"
        findings = concluded(found, source=source, seed=0)
        if order.reference is None:
            ended.notes.append(STAND_IN)
        training = _training(ended, stats, ranks)
        info = _info(order, ended.network)
        order.path.parent.mkdir(parents=True, exist_ok=True)
        hidden = f".{order.path.name}.export."
        with tempfile.TemporaryDirectory(prefix=hidden, dir=order.path.parent) as folder:
            exported = export(ended.network, pass_.inputs.specs, Path(folder))
            rows = [each[:CHECKED_ROWS] for each in pass_.first.inputs]
            check(exported, ended.network, rows)
            one = [each[:1] for each in rows]
            latency = latency_baseline(lambda: predict(exported.graph, one))
            serving = Serving(ended.network, pass_.inputs.specs, pass_.outputs.specs, latency)
            metadata: ModelMetadata = assembled(
                info, training, findings, serving,
                thresholds=order.thresholds, notes=ended.notes,
            )  # fmt: skip
            files = {"checkpoint": exported.checkpoint, "model": exported.model}
            return ModelPackage.write(order.path, metadata, files)  # type: ignore[arg-type]


class _Pass:
    """The reference pass of one rank, with the signature that it shows."""

    def __init__(self, order: Order, ended: Ended, stats: DataStatistics, rank: int) -> None:
        self.inputs, self.outputs = Signature(), Signature()
        self.first: Batch
        self._order, self._ended, self._stats, self._rank = order, ended, stats, rank

    def run(self) -> ReferencePass:
        network, source = self._ended.network, self._source()
        first = next(source, None)
        if first is None or not first.rows:
            raise InputError("reference", "holds no batch")
        self.first = first
        names = self._stats.names
        if len(first.inputs) != len(names):
            reason = f"({', '.join(names)}, label) expected, got {len(first.inputs) + 1} parts"
            raise InputError("reference", reason)
        outputs = predict(network, first.inputs)
        tasks = parts_of(self._order.task, list(outputs), "task")
        found = ReferencePass(self._stats.parts, tasks, rank=self._rank)
        for batch in itertools.chain([first], source):
            if batch is not first:
                outputs = predict(network, batch.inputs)
            self.inputs.observe(dict(zip(names, batch.inputs, strict=True)))
            self.outputs.observe(outputs)
            found.add(names, batch, outputs)
        return found

    def _source(self) -> Iterator[Batch]:
        if self._order.reference is None:
            return batches(self._ended.dataset, most_rows=STAND_IN_ROWS)
        return batches(self._order.reference)


def dataset_statistics(order: Order, dataset: Any) -> DataStatistics:
    """Statistics by a pass of their own over the training data, for sink mode.

    Raises:
        InputError: the data does not fit the extractors.
    """
    found: DataStatistics | None = None
    for batch in batches(dataset):
        found = found or new_statistics(order, dataset, len(batch.inputs))
        found.add(batch)
    if found is None:
        raise InputError("train_dataset", "holds no batch")
    found.settle()
    return found


def new_statistics(order: Order, dataset: Any, inputs: int) -> DataStatistics:
    """Empty statistics for batches of so many inputs.

    Raises:
        InputError: an extractor is given for an input that is not there.
    """
    names = input_names(dataset, inputs)
    task = order.task if not isinstance(order.task, dict) else next(iter(order.task.values()))
    return DataStatistics(parts_of(order.inputs, names, "inputs"), names, task)  # type: ignore[arg-type]


def _merged(shares: list[DataStatistics], notes: list[str]) -> DataStatistics:
    first, *others = shares
    for rank, each in enumerate(others, start=1):
        if not first.merge(each):
            notes.append(
                f"Column statistics of rank {rank} were fitted otherwise and are left out."
            )
    return first


def _training(ended: Ended, stats: DataStatistics, ranks: int) -> Training:
    health = ended.watch.health(
        finite=parameters_finite(ended.network),
        precision=precision_of(ended.network),
        scale=ended.loss_scale,
        ranks=ranks,
    )
    return Training(stats.stats(), health, fit_loss_curve(*ended.watch.losses.series()))


def _info(order: Order, network: Cell) -> ModelInfo:
    return ModelInfo(
        name=order.model_name,
        version=order.model_version,
        architecture=type(network).__name__,
        parameters=sum(int(each.size) for each in network.get_parameters()),
    )
