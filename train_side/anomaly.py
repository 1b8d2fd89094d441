"""Why a training was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .markdown import escaped, number, table
from .point import GRADIENT, Notice
from .record import Record

WHAT_TO_DO = {
    "gradient_explosion": "Lower the learning rate, warm it up, or clip gradients.",
    "gradient_vanishing": "Look at the initial weights and activations of the layers named.",
    "non_finite": "Look at the batch in `faults/`, at divisions and logarithms, and at the "
    "learning rate.",
    "loss_rise": "Lower the learning rate, or go back to a checkpoint from before the rise.",
    "oscillation": "Lower the learning rate, or enlarge the batch; look for mislabelled batches.",
}


def write_anomaly_report(
    folder: Path, why: Notice, record: Record, files: Sequence[Path] = ()
) -> Path:
    """Writes ``anomaly_report.md``: what was found, the latest values, the events before it.

    Raises:
        OSError: it cannot be written.
    """
    latest = {
        name: value for name, value in record.latest().items() if not name.startswith(GRADIENT)
    }
    recent = [
        (name, number(value), " ".join(number(each) for each in record.recent(name, 8)))
        for name, value in latest.items()
    ]
    events = [
        (str(each.step), each.rule, each.severity, escaped(each.sentence))
        for each in list(record.notices)[-30:]
    ]
    parts = [
        f"# Training stopped at step {record.step}",
        f"**{why.rule}** at step {why.step} ({why.time}): {escaped(why.sentence)}",
        WHAT_TO_DO.get(why.rule, ""),
        "## Latest values",
        table(("value", "last", "the eight before and with it"), recent),
        "## Events",
        table(("step", "rule", "severity", "what"), events),
    ]
    worst = record.layers.worst()
    if worst:
        parts += ["## Layers out of line", *(f"- `{name}`: {words}" for name, words in worst)]
    if files:
        parts += ["## Saved", *(f"- `{path}`" for path in files)]
    path = folder / "anomaly_report.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return path
