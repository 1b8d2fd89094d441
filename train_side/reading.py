"""Reading a journal, whole or while it is being written, whatever its writer died of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Protocol

import msgspec

from .point import Line, Point, decoder


class Recent(Protocol):
    """The newest entries, in memory; `n` is the number of the last one."""

    folder: Path
    n: int

    @property
    def oldest(self) -> int:
        """The number of the oldest entry in memory."""

    def recent(self, after: int, limit: int) -> list[Line] | None:
        """Up to `limit` entries that follow entry `after`; None if memory does not reach back."""


def segment_name(n: int) -> str:
    """The file that begins with entry `n`; names ascend with the entries."""
    return f"journal-{n:012d}.jsonl"


def segments(folder: Path) -> list[Path]:
    """The files of a journal, oldest first."""
    return sorted(folder.glob("journal-*.jsonl"), key=lambda path: (path.name[:20], len(path.name)))


def read_journal(folder: Path | str, *, after: int = 0) -> Iterator[Line]:
    """The entries after number `after`, in order, each once; lines that are not whole are left out.

    Raises:
        OSError: a file cannot be read.
    """
    last = after
    for path in _from(segments(Path(folder)), after):
        with path.open("rb") as file:
            for line in file:
                entry = decoded(line)
                if entry is not None and entry.n > last:
                    last = entry.n
                    yield entry


def decoded(line: bytes) -> Line | None:
    """The entry of one line; None if the line is not whole."""
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def last_of(folder: Path) -> Line | None:
    """The last whole entry; None if there is none.

    Raises:
        OSError: a file cannot be read.
    """
    for entries in _newest_first(folder):
        last = max(entries, key=lambda entry: entry.n, default=None)
        if last is not None:
            return last
    return None


def epochs_of(folder: Path) -> int:
    """How many epochs had ended when the journal did.

    Raises:
        OSError: a file cannot be read.
    """
    for entries in _newest_first(folder):
        found = None
        for entry in entries:
            if isinstance(entry, Point):
                if entry.source == "epoch":
                    found = entry.epoch
                elif entry.values.get("epoch"):
                    found = int(entry.values["epoch"] or 1) - 1
        if found is not None:
            return found
    return 0


def _newest_first(folder: Path) -> Iterator[Iterator[Line]]:
    """The whole entries of each segment, from the newest segment to the oldest."""
    for path in reversed(segments(folder)):
        with path.open("rb") as file:
            yield (entry for line in file if (entry := decoded(line)) is not None)


class Follower:
    """Reads a journal that is being written: from memory where it reaches, else from the files.

    Args:
        journal: what is followed.
        after: the number of the entry that was read last.
    """

    def __init__(self, journal: Recent, *, after: int = 0) -> None:
        self.position = after
        self.missed = 0
        self._journal = journal
        self._reader: Iterator[Line] | None = None

    def next(self, limit: int) -> list[Line]:
        """Up to `limit` entries that were not read yet; empty when there are none just now.

        Raises:
            OSError: a file cannot be read.
        """
        found = self._journal.recent(self.position, limit)
        if found is None:
            found = self._from_files(limit)
        else:
            self._reader = None
        if found:
            self.missed += found[0].n - self.position - 1
            self.position = found[-1].n
        return found

    def back(self, position: int) -> None:
        """What follows entry `position` is read once more."""
        self.position = position
        self._reader = None  # it has passed those

    def _from_files(self, limit: int) -> list[Line]:
        if self._reader is None:
            self._reader = read_journal(self._journal.folder, after=self.position)
        found = list(islice(self._reader, limit))
        if len(found) < limit:
            self._reader = None
        if not found:  # written nowhere: go on with the oldest that memory still has
            found = self._journal.recent(self._journal.oldest - 1, limit) or []
        return found


def _from(files: list[Path], after: int) -> list[Path]:
    """Leaves out the segments that end before entry `after`."""
    firsts = [int(path.name[8:20]) for path in files]
    skip = sum(1 for first in firsts[1:] if first <= after + 1)
    return files[skip:]
