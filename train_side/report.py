"""``training_report.md``: what a training came to, for people."""

from __future__ import annotations

import logging
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from driftline.metadata.quality import Health, LossCurve

from .lookback import LookBack
from .markdown import duration, escaped, number, table
from .pictures import draw
from .point import GRADIENT
from .record import Checkpoint, Record
from .series import Curve, save_series, series_of

log = logging.getLogger("driftline")

# What stands in the table of values at the end; layers and epochs have places of their own.
HIDDEN = (GRADIENT, "epoch", "lr_scheduled", "hottest", "host/", "process/", "gpu", "npu")


@dataclass(frozen=True)
class Ending:
    """A run that has ended, and all that the report needs of it."""

    run: str
    folder: Path
    reason: str
    record: Record
    health: Health
    about: Mapping[str, str]
    curve: LossCurve | None = None
    look_back: LookBack | None = None
    board: str | None = None
    tensorboard: Path | None = None
    unseen: int = 0  # steps that were not asked whether they overflowed
    notes: Sequence[str] = ()


def write_report(ending: Ending) -> Path:
    """Writes ``series.npz``, ``pictures/`` and ``training_report.md`` into the run's folder.

    A part that cannot be made is left out, and said so.

    Raises:
        OSError: the report itself cannot be written.
    """
    notes = list(ending.notes)
    series: dict[str, Curve] = {}
    pictures: list[Path] = []
    try:
        series = series_of(ending.folder)
        save_series(ending.folder / "series.npz", series)
        notices = list(ending.record.notices)
        pictures = draw(ending.folder / "pictures", series, notices, sorted(ending.record.metrics))
    except Exception as error:
        log.warning("pictures of %s: %s", ending.run, error, exc_info=True)
        notes.append(f"Pictures could not be made: {error}")
    parts = [
        f"# Training report: {escaped(ending.run)}",
        _summary(ending),
        "## Values",
        _values(series),
        *(f"![{path.stem}](pictures/{path.name})" for path in pictures),
        *_curve(ending.curve),
        "## Events",
        _events(ending.record),
        "## Layers out of line",
        _layers(ending.record),
        "## Checkpoints",
        _checkpoints(ending.record.checkpoints),
        "## Look-back",
        _looked_back(ending.look_back),
        "## Hardware",
        _hardware(series),
        *(["## Notes", "\n".join(f"- {escaped(note)}" for note in notes)] if notes else []),
        "## To look closer",
        _commands(ending),
    ]
    path = ending.folder / "training_report.md"
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return path


def _summary(ending: Ending) -> str:
    health = ending.health
    rows = [
        ("ended", escaped(ending.reason)),
        ("time", duration(health.seconds)),
        ("steps", f"{health.steps:,} in {health.epochs} epochs"),
        ("rows seen", "–" if health.rows_seen is None else f"{health.rows_seen:,}"),
        ("throughput", f"{number(health.rows_per_second)} samples/s"),
        ("loss", f"{number(health.final_loss)} at the end, {number(health.best_loss)} at best"),
        ("finite", _finite(health, ending.record.looked)),
        ("precision", health.precision or "–"),
    ]
    if health.loss_scale is not None:
        least = "at least " if ending.unseen else ""
        skipped = f", {least}{health.overflows} steps skipped"
        overflows = "" if health.overflows is None else skipped
        rows.append(("loss scale", f"{health.loss_scale:g}{overflows}"))
    if health.gradient_norm_quantiles:
        low, middle, high = (number(each) for each in health.gradient_norm_quantiles)
        rows.append(("gradient norm", f"{middle} (5 % below {low}, 5 % above {high})"))
    rows += [(name, escaped(value)) for name, value in ending.about.items() if name != "epochs"]
    if health.ranks > 1:
        rows.append(("ranks", str(health.ranks)))
    return table(("", ""), rows)


def _finite(health: Health, looked: int) -> str:
    if not health.finite:
        return "–" if health.finite is None else "**no**"
    if looked >= health.steps:
        return "yes"
    return f"in the {looked:,} of {health.steps:,} steps looked at"


def _values(series: Mapping[str, Curve]) -> str:
    rows = []
    for name, (steps, values) in sorted(series.items()):
        finite = np.isfinite(values)
        if name.startswith(HIDDEN) or not finite.any():
            continue
        low, high = int(np.nanargmin(values)), int(np.nanargmax(np.where(finite, values, np.nan)))
        rows.append(
            (
                f"`{escaped(name)}`",
                number(float(values[-1]) if finite[-1] else None),
                f"{number(float(values[low]))} (step {steps[low]})",
                f"{number(float(values[high]))} (step {steps[high]})",
                str(len(values)),
            )
        )
    return table(("value", "last", "lowest", "highest", "points"), rows)


def _curve(curve: LossCurve | None) -> list[str]:
    if curve is None:
        return []
    return [
        "## Loss curve",
        f"loss ≈ {curve.floor:.4g} + {curve.scale:.4g} · (step + 1)^−{curve.power:.3g}, which "
        f"leaves {curve.residual:.3g} over (root mean square, {curve.points} points).",
    ]


def _events(record: Record) -> str:
    rows = [
        (str(each.step), each.rule, each.severity, escaped(each.sentence))
        for each in record.notices
    ]
    more = record.notice_count - len(rows)
    note = f"\n\n{more} earlier ones are in the journal." if more > 0 else ""
    return (table(("step", "rule", "severity", "what"), rows) or "None.") + note


def _layers(record: Record) -> str:
    if not record.layers.layers:
        return "Gradients were not measured."
    worst = record.layers.worst()
    return "\n".join(f"- `{escaped(name)}`: {words}" for name, words in worst) or "None."


def _checkpoints(checkpoints: Sequence[Checkpoint]) -> str:
    there = [each for each in checkpoints if Path(each.path).exists()]
    if not there:
        return (
            "None was saved by MindSpore's `ModelCheckpoint` or told by a loop's `checkpoint`, or "
            "none is there any more."
        )
    best = min(there, key=lambda each: each.loss if math.isfinite(each.loss) else math.inf)
    rows = [
        (f"`{escaped(each.path)}`", str(each.step), number(each.loss), "best" * (each is best))
        for each in there
    ]
    return table(("file", "step", "smoothed loss", ""), rows)


def _looked_back(found: LookBack | None) -> str:
    if found is None:
        return "Not done: there was no held-out data, or the training did not end by itself."
    if found.failure is not None:
        return f"**Failed**: {escaped(found.source)}: {escaped(found.failure)}."
    came = f"`{escaped(found.source)}` was loaded again and answered {found.rows} held-out rows"
    if found.right is not None:
        came += f", {found.right} of them as labelled"
    if found.error is not None:
        came += f", with a mean absolute error of {found.error:.4g}"
    return f"{came}; see `final_eval_samples/`."


def _hardware(series: Mapping[str, Curve]) -> str:
    rows = []
    for name, (_, values) in sorted(series.items()):
        if name.startswith(("host/", "process/", "gpu", "npu")) and np.isfinite(values).any():
            mean, high = float(np.nanmean(values)), float(np.nanmax(values))
            scale, unit = (1024**3, " GiB") if name.endswith("_bytes") else (1, "")
            rows.append((f"`{name}`", f"{mean / scale:.4g}{unit}", f"{high / scale:.4g}{unit}"))
    absent = [
        what
        for what, prefix in (("NVIDIA GPU", "gpu"), ("Ascend NPU", "npu"))
        if not any(row[0].startswith(f"`{prefix}") for row in rows)
    ]
    found = table(("reading", "mean", "highest"), rows)
    return "\n\n".join([found] * bool(found) + [f"Absent: {', '.join(absent)}."] * bool(absent))


def _commands(ending: Ending) -> str:
    lines = []
    if ending.tensorboard is not None:
        lines.append(f"tensorboard --logdir {shlex.quote(str(ending.tensorboard))}")
    if ending.board:
        lines.append(f"# the live board: {ending.board.rstrip('/')}/training")
    lines.append(f"less {shlex.quote(str(ending.folder))}/journal-*.jsonl")
    return "```sh\n" + "\n".join(lines) + "\n```"
