"""Log lines of the worker, said on a thread of their own: a terminal may take nothing for hours."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from .worker import Worker

log = logging.getLogger("driftline")

Said = tuple[int, str]

_workers: dict[int, Worker[Said]] = {}


def say(level: int, message: str, *arguments: object) -> None:
    """Has the line logged soon; of more than 100 that wait the newest are left out."""
    worker = _worker()
    worker.put((level, message % arguments))
    worker.wake()


def finish(seconds: float) -> bool:
    """True once all was said; False after `seconds`."""
    return _worker().flush(seconds)


def _worker() -> Worker[Said]:
    """One for the whole process; what was forked off has none yet."""
    found = _workers.get(os.getpid())
    if found is None:  # without a lock, which a fork might leave locked
        made: Worker[Said] = Worker(_say, name="driftline-log", capacity=100, tick=5.0)
        found = _workers.setdefault(os.getpid(), made)
    return found


def _say(lines: Sequence[Said]) -> None:
    for level, text in lines:
        log.log(level, "%s", text)
