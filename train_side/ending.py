"""From the end of a training to its report."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from driftline.metadata.quality import Health

from .lookback import LookBack, Saved, look_back
from .loss_curve import fit_loss_curve
from .obeying import save_checkpoint
from .plan import Plan
from .report import Ending, write_report
from .runs import FINISHED, STOPPED
from .session import Session
from .sinks.board import Board
from .sinks.tensorboard import TensorBoard
from .together import told_by_files

log = logging.getLogger("driftline")

FINAL = "final.ckpt"


def report_on(
    plan: Plan, session: Session, reason: str, health: Health, *, network: Any, callbacks: Any
) -> Path:
    """Writes the report of a session that is closed; looks back if the training came to its end.

    Args:
        plan: what was asked for.
        session: what was seen.
        reason: why it ended.
        health: what it came to.
        network: the trained network, if it is known.
        callbacks: those of the training, among them perhaps a `FingerprintCallback`.
    """
    looked = None
    if reason in (FINISHED, STOPPED) and network is not None:
        looked = _look_back(plan, session, network, callbacks)
    boards = [sink for sink in plan.sinks if isinstance(sink, Board)]
    ending = Ending(
        run=session.place.run,
        folder=session.place.folder,
        reason=reason,
        record=session.record,
        health=health,
        about=session.about,
        curve=fit_loss_curve(*session.record.losses.series()),
        look_back=looked,
        board=boards[0].url if boards else None,
        tensorboard=_tensorboard(plan, session.place.folder),
        unseen=session.overflows.unseen,
        notes=_notes(session),
    )
    path = write_report(ending)
    log.info("report: %s", path)
    for board in boards:
        board.put_report(path)
    return path


def _tensorboard(plan: Plan, folder: Path) -> Path | None:
    written = any(isinstance(sink, TensorBoard) for sink in plan.sinks)
    return folder / "tensorboard" if written else None


def _look_back(plan: Plan, session: Session, network: Any, callbacks: Any) -> LookBack | None:
    package, held_out = _packaged(callbacks)
    held_out = plan.settings.held_out if plan.settings.held_out is not None else held_out
    if held_out is None:
        return None
    asked = plan.settings.package
    package = Path(asked) if asked is not None else package
    folder = session.place.folder
    if package is not None:
        began = time.time() - (time.monotonic() - session.began)
        if not package.exists() or package.stat().st_mtime < began:
            failure = "no package was written by this training"
            return LookBack(str(package), failure=failure)
        saved = Saved(package=package, network=network)
    else:
        save_checkpoint(network, folder / FINAL, why=logging.DEBUG)
        saved = Saved(checkpoint=folder / FINAL, network=network)
    return look_back(saved, held_out, folder / "final_eval_samples")


def _packaged(callbacks: Any) -> tuple[Path | None, Any]:
    """Path and reference of the `FingerprintCallback` among the callbacks."""
    from .fingerprint import FingerprintCallback  # it knows the monitor, too

    for callback in callbacks or ():
        if isinstance(callback, FingerprintCallback):
            return callback._order.path, callback._order.reference
    return None, None


def _notes(session: Session) -> list[str]:
    notes = []
    journal, worker = session.place.journal, session.worker
    if session.place.broken:
        notes.append(session.place.broken)
    if worker.dropped:
        notes.append(f"{worker.dropped} points were dropped because the queue was full.")
    if journal.lost:
        notes.append(f"{journal.lost} entries of the journal could not be written.")
    if session.overflows.unseen:
        unseen = session.overflows.unseen
        notes.append(f"{unseen} steps were not asked whether they were skipped on overflow.")
    if session.record.unlisted:
        notes.append(f"{session.record.unlisted} values had a name beyond the 500th.")
    failures = {**session.fence.failures, **session.desk.fence.failures}
    notes += [f"{name} failed {count} times." for name, count in failures.items()]
    return notes + session.notes + told_by_files(session.place.folder)
