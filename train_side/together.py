"""Several ranks of one training: what their monitors tell each other when all of them meet."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from .anomaly import write_anomaly_report
from .point import Notice
from .policies import Policies, Stop
from .ranks import exchanged, rank_and_size
from .reading import last_of
from .runs import step_of
from .session import Session

log = logging.getLogger("driftline")


@dataclass(frozen=True)
class Share:
    """What one rank has seen: rows and overflows so far, events since the last meeting.

    `stop` is why it wants to stop; `interval` how many steps its deep samples should be apart.
    """

    rows: int
    overflows: float
    notices: tuple[Notice, ...]
    stop: Notice | None
    interval: int


class Meetings:
    """Where the ranks meet: at the end of each epoch, and where one may want to stop earlier.

    A stop on one rank alone would leave the others waiting in the next step's all-reduce for ever,
    so all of them stop where they meet. Alerts and checkpoints are rank 0's business, for what it
    is told there, too. Every rank has to come to each meeting: whether there is one is told from
    what is alike on all ranks. Where ranks cannot meet they go on alone.
    """

    def __init__(self, session: Session | None, policies: Policies) -> None:
        self._session = session
        self._told = 0
        self._reported = False
        self.often = any(
            isinstance(policy, Stop) or policy.first_rank
            for chosen in policies.values()
            for policy in chosen
        )
        self.on = self._all_are_here()
        self._leave_to_the_first(self.on)

    def meet(self) -> Notice | None:
        """Merges what all have seen; gives the reason to stop if one of them has one."""
        session = self._session
        if not self.on or session is None:
            return None
        try:
            session.flush(2.0)
            shares = exchanged(self._share)
        except Exception as error:
            log.warning("the ranks' monitors cannot meet, each goes on alone: %s", error)
            self.on = False
            self._leave_to_the_first(False)
            return None
        others = [share for rank, share in enumerate(shares) if rank != session.place.rank]
        session.others_rows = sum(share.rows for share in others)
        session.record.others_overflows = sum(share.overflows for share in others)
        session.sampler.keep_apart(max(share.interval for share in shares))
        stop = next((share.stop for share in shares if share.stop is not None), None)
        heard: list[tuple[Notice, str]] = []
        if session.place.rank == 0:
            for rank, share in enumerate(shares[1:], start=1):
                heard += [(each, f"rank {rank}: {each.sentence}") for each in share.notices]
        told = shares[session.place.rank].notices
        session.do(lambda: session.desk.hear(heard, told))
        if stop is not None and session.wishes.stop is None and session.place.rank == 0:
            self._report(session, stop)
        return stop

    def _report(self, session: Session, stop: Notice) -> None:
        """The anomaly report of a stop that another rank wants; that has one of its own beside."""
        if not self._reported:
            self._reported = True
            folder, record, saved = session.place.folder, session.record, session.saved
            session.do(lambda: write_anomaly_report(folder, stop, record, saved))

    def _leave_to_the_first(self, on: bool) -> None:
        if self._session is not None:
            self._session.desk.first_acts = on and self._session.place.rank > 0

    def _share(self) -> Share:
        assert self._session is not None
        session = self._session
        record = session.record
        new = record.notice_count - max(self._told, record.notices_before)
        self._told = record.notice_count
        return Share(
            rows=session.rows,
            overflows=record.overflows,
            notices=tuple(list(record.notices)[-new:]) if new else (),
            stop=session.wishes.stop,
            interval=session.sampler.wanted_interval(),
        )

    def _all_are_here(self) -> bool:
        """A rank whose monitor could not begin would be waited for at every meeting."""
        try:
            return all(exchanged(lambda: self._session is not None))
        except Exception as error:
            log.warning("the ranks' monitors cannot meet, each goes on alone: %s", error)
            return False


def told_by_files(folder: Path) -> list[str]:
    """What the other ranks have left in their folders, in words."""
    found = []
    for rank in range(1, rank_and_size()[1]):
        path = folder / "ranks" / str(rank)
        last = last_of(path)
        if last is not None:
            found.append(f"Rank {rank} has written up to step {step_of(last)} ({path}).")
    return found
