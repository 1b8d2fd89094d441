"""A daemon thread that does one thing again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .fence import Fence


class Background:
    """Calls `task` every `seconds`, or at once after `wake`, until `stop`.

    What the task raises is caught by the fence; the next turn comes all the same.
    """

    def __init__(
        self, name: str, task: Callable[[], object], *, seconds: float, fence: Fence
    ) -> None:
        self.name = name
        self._task = task
        self._seconds = seconds
        self._fence = fence
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"driftline-{name}", daemon=True)

    def start(self) -> None:
        """Starts the thread; once."""
        self._thread.start()

    def wake(self) -> None:
        """Lets the next turn begin now."""
        if not self._wake.is_set():
            self._wake.set()

    def stop(self, seconds: float = 5.0) -> None:
        """Lets the turn that runs come to its end, for at most `seconds`, and no other begin."""
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.wait(self._seconds)
            self._wake.clear()
            if self._stopped.is_set():
                return
            try:
                self._task()
            except Exception as error:  # a guest does not end its host's process
                self._fence.caught(self.name, error)
