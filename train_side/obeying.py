"""What policies have asked for, done in the training thread."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from .anomaly import write_anomaly_report
from .point import Notice
from .session import Session

log = logging.getLogger("driftline")

MOST_CHECKPOINTS = 5


def obeyed(session: Session, cell: Any, step: int) -> Notice | None:
    """Saves the checkpoint that is wanted, of `cell`; gives the reason to stop if there is one.

    With a stop comes ``anomaly_report.md``, written on the worker's thread. Where ranks meet only
    rank 0 is asked for a checkpoint, whoever has found the fault: they hold the same. Of more than
    five checkpoints the first, which is nearest to a sound training, and the latest four are kept.
    """
    checkpoint, stop = session.wishes.taken()
    place = session.place
    if checkpoint is not None and cell is not None:
        path = place.folder / "faults" / f"{checkpoint.rule}-step{step}.ckpt"
        save_checkpoint(cell, path)
        session.saved.append(path)
        for old in _too_many(path.parent):
            old.unlink(missing_ok=True)
            session.saved[:] = [each for each in session.saved if each != old]
    if stop is not None:
        session.do(lambda: write_anomaly_report(place.folder, stop, session.record, session.saved))
    return stop


def _too_many(folder: Path) -> list[Path]:
    """Those of this run's faults that go, also of its lives before."""
    files = sorted(folder.glob("*-step*.ckpt"), key=lambda path: path.stat().st_mtime_ns)
    return files[1 : 1 - MOST_CHECKPOINTS] if len(files) > MOST_CHECKPOINTS else []


def save_checkpoint(network: Any, path: Path, why: int = logging.WARNING) -> None:
    """Saves all parameters of the cell, the optimizer's among them if it has one.

    `why` is the level at which it is logged.
    """
    import mindspore as ms

    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # MindSpore makes them read-only
    ms.save_checkpoint(network, str(path))
    log.log(why, "checkpoint saved: %s", path)
