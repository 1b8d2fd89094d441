"""The handover from old workers to new ones: gunicorn's arbiter, patient with what loads long."""

from __future__ import annotations

import logging
import mmap
import signal
import time
from typing import Any

from gunicorn.arbiter import Arbiter

log = logging.getLogger(__name__)

# How long is waited before a worker that did not get ready is tried again: twice as long each time.
RETRY_SECONDS, LONGEST_RETRY = 2.0, 30.0


class Handover(Arbiter):  # type: ignore[misc]
    """On SIGHUP new workers load what the application has then. Old ones answer until as many new
    ones are ready, then finish what they have; where one of the new does not get ready, they stay.

    Its application is asked, by `renewed`, whether there is something to be loaded, and told, by
    `kept`, why it is not served after all. Its settings are `HOOKS`, and `post_worker_init` calls
    `began`.
    """

    # While a reload is under way, the age of the last worker that it replaces.
    _last: int | None = None
    _again = False
    _pause = RETRY_SECONDS
    _retry_at = 0.0

    def handle_hup(self) -> None:
        """Begins a reload; during one, another that follows it."""
        # One at a time: a third model in memory is more than anybody reckons with.
        if self._last is not None or len(self.WORKERS) > self.num_workers:
            self._again = True
            log.info("a reload is under way; another one follows it")
        elif self.app.renewed():
            self._last = self.worker_age
            self.manage_workers()

    def manage_workers(self) -> None:
        """Begins and ends workers until there are as many as are wanted, all of one kind."""
        if self._last is not None:
            new = self._new()
            for _ in range(self.num_workers - len(new)):
                self.spawn_worker()
            if sum(each.ready[0] for each in new) < self.num_workers:
                return
            self._last = None
            log.info("reloaded: new workers answer, and the old ones finish what they have")
        missing = self.num_workers - len(self.WORKERS)
        if missing <= 0 and all(each.ready[0] for each in self.WORKERS.values()):
            self._pause = RETRY_SECONDS
        if missing <= 0 or time.monotonic() >= self._retry_at:
            # Where there are too many, the oldest are ended.
            super().manage_workers()
        if self._again and len(self.WORKERS) <= self.num_workers:
            self._again = False
            self.handle_hup()

    def stop(self, graceful: bool = True) -> None:
        """Ends all workers; one that still loads has nothing to finish, and is not waited for."""
        self._last = None
        for each in list(self.WORKERS.values()):
            if not each.ready[0]:
                # A milder signal is lost on a worker that was forked this moment.
                self.kill_worker(each.pid, signal.SIGKILL)
        super().stop(graceful)

    def ended(self, worker: Any) -> None:
        """A worker's process has ended, for whatever reason."""
        if worker.ready[0] or worker.age < 0:
            return
        if self._last is not None and worker.age > self._last:
            self._give_up(worker)
        else:
            self._retry_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_RETRY)

    def _new(self) -> list[Any]:
        last = self._last or 0
        return [each for each in self.WORKERS.values() if each.age > last]

    def _give_up(self, worker: Any) -> None:
        new, self._last = self._new(), None
        for each in new:
            # As if it were older than all others: it is the one to go if there are too many.
            each.age = -each.age
            self.kill_worker(each.pid, signal.SIGTERM if each.ready[0] else signal.SIGQUIT)
        late = f"was not ready within {self.timeout} s"
        how = late if worker.aborted else "ended before it was ready"
        self.app.kept(f"a new worker (pid {worker.pid}) {how}")


def _pre_fork(arbiter: Any, worker: Any) -> None:
    """Gives the worker what it says in, to the arbiter, that it is ready: memory of both."""
    worker.ready = mmap.mmap(-1, 1)


def _child_exit(arbiter: Any, worker: Any) -> None:
    arbiter.ended(worker)


def began(worker: Any) -> None:
    """The worker has loaded the model and answers from now on."""
    worker.ready[0] = 1


# gunicorn's settings by which the arbiter learns how its workers are.
HOOKS = {"pre_fork": _pre_fork, "child_exit": _child_exit}
