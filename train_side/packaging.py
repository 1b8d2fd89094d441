"""The metadata of a package, put together from what training and the reference pass found."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata as distributions

import numpy as np

from driftline.drift.sensitivity import sensitivity
from driftline.drift.thresholds import check_thresholds
from driftline.metadata.extract import Classification, Extractor, Joined, Regression
from driftline.metadata.fitting import fit_reference
from driftline.metadata.host import host_fingerprint
from driftline.metadata.quality import Health, LatencyBaseline, LossCurve, Quality
from driftline.metadata.reference import Reference, Source
from driftline.metadata.sample import RowSample
from driftline.metadata.schema import (
    Extraction,
    Framework,
    ModelInfo,
    ModelMetadata,
    TensorSpec,
    TrainDataStats,
)
from driftline.metadata.signals import Column, Group
from driftline.metadata.thresholds import Thresholds

from .batches import Array
from .parts import Parts, extractions
from .rating import rated
from .reference_pass import ReferencePass
from .scores import ClassScores, ErrorScores, calibrated


@dataclass(frozen=True)
class Findings:
    """What the reference pass came to: fitted output extractors, the reference, the quality."""

    inputs: Parts
    tasks: Parts
    reference: Reference
    quality: Quality | None

    @property
    def extractions(self) -> tuple[Extraction, ...]:
        """How serving computes the columns of every group."""
        found = extractions("input", self.inputs)
        for group, parts in by_group(self.tasks).items():
            found += extractions(group, parts)
        return tuple(found)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes of the first classification."""
        for task in self.tasks.values():
            if isinstance(task, Classification):
                return task.classes
        return ()


@dataclass(frozen=True)
class Training:
    """What the training itself was."""

    stats: TrainDataStats
    health: Health
    loss_curve: LossCurve | None


@dataclass(frozen=True)
class Serving:
    """What the exported model is."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    latency: LatencyBaseline
    framework: Framework


def by_group(tasks: Parts) -> dict[Group, Parts]:
    """Outputs that say what is predicted, and those that are an embedding."""
    groups: dict[Group, Parts] = {}
    for name, task in tasks.items():
        predicts = isinstance(task, Classification | Regression)
        groups.setdefault("output" if predicts else "embedding", {})[name] = task
    return groups


def concluded(found: ReferencePass, *, source: Source, seed: int) -> Findings:
    """Temperature, quality and reference of a finished pass.

    Calibration comes first: the reference of confidence is that of the calibrated one. An output's
    extractor that has to learn does so on a quarter of the rows, and its group's reference is made
    of the others.
    """
    assert found.output_sample is not None
    assert found.label is not None
    rows = found.output_sample.rows
    arrays = {name: place.of(rows) for name, place in found.places.items()}
    tasks, quality = _judged(found, arrays, found.label.of(rows))
    samples: dict[Group, RowSample] = {"input": found.input_sample}
    columns: dict[Group, Sequence[Column]] = {"input": Joined(found.inputs).columns()}
    for group, parts in by_group(tasks).items():
        learned = {name: task.fit(arrays[name][: len(rows) // 4]) for name, task in parts.items()}
        start = 0 if learned == parts else len(rows) // 4
        tasks.update(learned)
        joined = Joined(learned)
        columns[group] = joined.columns()
        samples[group] = RowSample(len(columns[group]), size=len(rows), seed=seed)
        samples[group].add(joined.extract({name: arrays[name][start:] for name in learned}))
    reference = fit_reference(samples, columns, source=source, seed=seed)
    quality = rated(quality, reference, tasks, arrays, found.label.of(rows))
    return Findings(found.inputs, tasks, reference, quality)


def assembled(
    model: ModelInfo,
    training: Training,
    findings: Findings,
    serving: Serving,
    *,
    thresholds: Thresholds | None = None,
    notes: Sequence[str] = (),
) -> ModelMetadata:
    """The metadata, complete but for the files.

    Raises:
        SettingError: a threshold is for a signal that the reference does not have.
    """
    if thresholds is not None:
        check_thresholds(thresholds, findings.reference)
    now = datetime.datetime.now(datetime.UTC)
    return ModelMetadata(
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        model=model,
        framework=serving.framework,
        inputs=serving.inputs,
        outputs=serving.outputs,
        extractions=findings.extractions,
        class_names=findings.class_names,
        train_data_stats=training.stats,
        reference=findings.reference,
        quality=findings.quality,
        latency=serving.latency,
        health=training.health,
        loss_curve=training.loss_curve,
        thresholds=thresholds or Thresholds(),
        sensitivity=sensitivity(findings.reference, thresholds),
        notes=tuple(notes),
    )


def framework() -> Framework:
    """The versions that run here."""
    import mindspore as ms

    graph = ms.get_context("mode") == ms.GRAPH_MODE
    return Framework(
        name="mindspore",
        version=ms.__version__,
        mode="graph" if graph else "pynative",
        device=str(ms.get_context("device_target")),
        python=platform.python_version(),
        numpy=np.__version__,
        driftline=distributions.version("driftline"),
        host=host_fingerprint(),
    )


def _judged(
    found: ReferencePass, arrays: dict[str, Array], label: Array
) -> tuple[Parts, Quality | None]:
    """The tasks, the first calibrated if it classifies, and how right it was."""
    tasks: Parts = dict(found.tasks)
    name, judge = next(iter(tasks.items()))
    if isinstance(judge, Classification) and isinstance(found.scores, ClassScores):
        warm: Extractor
        warm, errors = calibrated(judge, arrays[name], label)
        tasks[name] = warm
        before, after = float(errors[0]), float(errors[1])
        return tasks, found.scores.quality(warm.temperature, before, after)
    if isinstance(found.scores, ErrorScores):
        return tasks, found.scores.quality()
    return tasks, None
