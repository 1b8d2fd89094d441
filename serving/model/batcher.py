"""Batching: requests that wait together are answered by one call of the model.

There is no thread for it. The first request that finds the model free leads: it takes what waits
beside it, calls, hands the answers out and the lead on to the next in the queue. A request that
comes alone is called at once, and pays a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .aim import Aim

Arrays = dict[str, NDArray[Any]]


class Cut(Protocol):
    """What a call gives: something of which some rows can be had."""

    def rows(self, start: int, stop: int) -> Any:
        """The rows from `start` on, before `stop`."""
        ...


R = TypeVar("R", bound=Cut)
Call = Callable[[Arrays, Any], R]


class _Ticket(Generic[R]):
    """One request in the queue."""

    __slots__ = ("answer", "arrays", "error", "key", "leads", "mode", "rows", "signal")

    def __init__(self, arrays: Mapping[str, NDArray[Any]], mode: Hashable) -> None:
        self.arrays = dict(arrays)
        self.mode = mode
        self.rows = len(next(iter(self.arrays.values())))
        self.key = (mode, tuple((n, a.dtype, a.shape[1:]) for n, a in self.arrays.items()))
        self.leads = False
        self.answer: R | None = None
        self.error: BaseException | None = None
        # A bare lock: an Event costs more than many a model.
        self.signal = threading.Lock()
        self.signal.acquire()

    def told(self) -> R:
        if self.error is not None:
            raise self.error
        assert self.answer is not None
        return self.answer


class Batcher(Generic[R]):
    """Joins requests of the same types, shapes and mode; each gets its own rows and its own error.

    Where a joined call fails, every request of it is called alone, so that only the one at fault
    hears of it. Safe to use from many threads.

    Args:
        call: takes arrays by name and a mode; one call at a time.
        sizes: rows that a joined call may have, in rising order; a request that has more than the
            largest is called as it is.
        wait: seconds a leader waits for as many requests as there were last time, or as many rows
            as the `Aim` says; it never waits where the last request was alone.
    """

    def __init__(self, call: Call[R], *, sizes: Sequence[int], wait: float) -> None:
        self._call = call
        self._aim = Aim(sizes)
        self._wait = wait
        self._lock = threading.Lock()
        self._queue: list[_Ticket[R]] = []
        self._rows = 0
        self._busy = False
        self._expected = 1
        self._gate: threading.Lock | None = None

    def __call__(self, arrays: Mapping[str, NDArray[Any]], mode: Hashable = None) -> R:
        """The answer to these rows alone; raises what the call raised because of them."""
        ticket: _Ticket[R] = _Ticket(arrays, mode)
        with self._lock:
            self._queue.append(ticket)
            self._rows += ticket.rows
            leads, self._busy = not self._busy, True
            if leads:
                self._aim.arrived()
            if self._gate is not None and self._enough():
                self._gate.release()
                self._gate = None
        if not leads:
            ticket.signal.acquire()
            if not ticket.leads:
                return ticket.told()
        self._lead()
        return ticket.told()

    def _lead(self) -> None:
        self._gather()
        with self._lock:
            batch = self._taken()
        rows = sum(ticket.rows for ticket in batch)
        try:
            self._answer(batch)
        finally:
            with self._lock:
                self._expected = len(batch) + len(self._queue)
                crowd = rows + self._rows if self._expected > 1 else 0
                self._aim.answered(rows, crowd, batch[0].rows)
                heir = self._queue[0] if self._queue else None
                self._busy = heir is not None
            if heir is not None:
                heir.leads = True
                heir.signal.release()
            for ticket in batch[1:]:
                if ticket.answer is None and ticket.error is None:
                    ticket.error = RuntimeError("the call was broken off")
                ticket.signal.release()

    def _gather(self) -> None:
        """Waits a moment where others are to be expected."""
        with self._lock:
            if not self._wait or self._enough():
                return
            gate = self._gate = threading.Lock()
            gate.acquire()
        gate.acquire(timeout=self._wait)
        with self._lock:
            self._gate = None

    def _enough(self) -> bool:
        """Whether those who wait are as many as are to be expected, or as can be joined."""
        if len(self._queue) >= self._expected or self._rows >= self._aim.rows:
            return True
        key = self._queue[0].key
        return any(ticket.key != key for ticket in self._queue)

    def _taken(self) -> list[_Ticket[R]]:
        """The first in the queue, and all that can be joined with it."""
        first, *others = self._queue
        batch, left, rows = [first], [], first.rows
        for ticket in others:
            if ticket.key == first.key and rows + ticket.rows <= self._aim.rows:
                batch.append(ticket)
                rows += ticket.rows
            else:
                left.append(ticket)
        self._queue = left
        self._rows -= rows
        return batch

    def _answer(self, batch: list[_Ticket[R]]) -> None:
        if len(batch) > 1:
            try:
                joined = {
                    name: np.concatenate([ticket.arrays[name] for ticket in batch])
                    for name in batch[0].arrays
                }
                found = self._call(joined, batch[0].mode)
                at = 0
                for ticket in batch:
                    ticket.answer = found.rows(at, at + ticket.rows)
                    at += ticket.rows
                return
            except Exception:
                # One of them is at fault; which one shows when each is called alone.
                for ticket in batch:
                    ticket.answer = None
        for ticket in batch:
            try:
                ticket.answer = self._call(ticket.arrays, ticket.mode)
            except Exception as error:
                ticket.error = error
