"""The folder of a run: what it holds already, and under which name the run goes on."""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from .journal import Journal
from .point import End, Line, Notice, Severity, Start, stamp
from .reading import decoded, epochs_of, last_of, segments

log = logging.getLogger("driftline")

FINISHED, STOPPED = "finished", "stopped"
EARLIER = "earlier"
# What a run leaves in its folder; whatever else lies there is the user's and stays.
OWN = (
    "journal-*.jsonl",
    "board.json",
    "series.npz",
    "final.ckpt",
    "*_report.md",
    "pictures",
    "faults",
    "final_eval_samples",
    "tensorboard",
)


class RunFolder:
    """A run's folder, opened for one more process.

    If the run in it did not end by itself it is continued: its name, the numbers of its entries
    and its steps go on, and `broken` says where it stopped. A run that did is moved to
    ``earlier/``, with its files.

    Args:
        folder: made if it is not there.
        run: the name under which the board shows it; the folder's name and the time, if None.
        resume: True and False decide what is otherwise told from the journal.
    """

    def __init__(
        self, folder: Path, *, run: str | None = None, resume: bool | None = None, rank: int = 0
    ) -> None:
        # Other ranks than 0 write beside it, each in a folder of its own.
        self.folder = folder if rank == 0 else folder / "ranks" / str(rank)
        self.rank = rank
        self.resumed_after: int | None = None
        self.broken: str | None = None
        self.epochs_before = 0
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self.run = run or f"{plain(folder.resolve().name)}-{moment}"
        try:
            last = last_of(self.folder)
            if last is not None:
                if resume is None:
                    resume = not (isinstance(last, End) and last.reason in (FINISHED, STOPPED))
                if resume:
                    self._resume(last, run)
                else:
                    self._set_aside()
        except OSError as error:
            log.warning("%s cannot be read: %s", folder, error)
        self.journal = Journal(self.folder)

    def start(self, about: Mapping[str, str]) -> None:
        """Writes the line with which a process begins, and where the one before it stopped."""
        now = stamp(time.time())
        self.journal.append(
            Start(
                time=now,
                run=self.run,
                rank=self.rank,
                resumed_after=self.resumed_after,
                broken=self.broken,
                about=dict(about),
            )
        )
        if self.broken:
            self._tell("resumed", self.resumed_after or 0, "info", self.broken)

    def end(self, step: int, reason: str, dropped: int) -> None:
        """Writes the line with which a process ends by itself."""
        by_itself = reason in (FINISHED, STOPPED)
        sentence = f"The training has {reason}." if by_itself else f"It ended: {reason}."
        self._tell("ended", step, "info" if by_itself else "warning", sentence)
        self.journal.append(End(time=stamp(time.time()), step=step, reason=reason, dropped=dropped))

    def _tell(self, rule: str, step: int, severity: Severity, sentence: str) -> None:
        now = stamp(time.time())
        self.journal.append(
            Notice(time=now, step=step, rule=rule, severity=severity, sentence=sentence)
        )

    def _resume(self, last: Line, run: str | None) -> None:
        self.run = run or _name_of(self.folder) or self.run
        self.resumed_after = step_of(last)
        self.epochs_before = epochs_of(self.folder)
        if not isinstance(last, End):
            self.broken = (
                f"The process before this one stopped without an end after step "
                f"{self.resumed_after}, at {last.time}."
            )
        elif last.reason not in (FINISHED, STOPPED):
            self.broken = (
                f"The process before this one ended after step {last.step}, at {last.time}: "
                f"{last.reason}."
            )

    def _set_aside(self) -> None:
        name = _name_of(self.folder) or "run"
        aside = self.folder / EARLIER / plain(name)
        while aside.exists():
            aside = aside.with_name(aside.name + "+")
        aside.mkdir(parents=True)
        for pattern in OWN:
            for path in self.folder.glob(pattern):
                shutil.move(str(path), aside / path.name)


def step_of(entry: Line) -> int:
    """The step an entry is about; for a start the one it goes on after, 0 if from the beginning."""
    if isinstance(entry, Start):
        return entry.resumed_after or 0
    return entry.step


def plain(name: str) -> str:
    """The name with nothing in it that a path or an address could trip over."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "run"


def _name_of(folder: Path) -> str | None:
    for path in reversed(segments(folder)):
        with path.open("rb") as file:
            entry = decoded(file.readline())
        if isinstance(entry, Start):
            return entry.run
    return None
