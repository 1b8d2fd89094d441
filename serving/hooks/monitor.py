"""`InferenceMonitor`: the hooks before and after a prediction, for a service or any function.

::

    monitor = InferenceMonitor.open("packages/digits", store="sqlite:///state.db")

    with monitor.observe(inputs) as seen:          # or: @monitor.watch
        seen.outputs = predict(inputs)

Neither MindSpore nor a web server is needed; inputs and outputs are NumPy arrays, batch first.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, time
from typing import Any, TypeVar

import numpy as np

from driftline.metadata.package import ModelPackage

from ..alerting import Told, told
from ..limits import Limits
from .fence import Fence
from .seen import Seen
from .session import Plan, Session

F = TypeVar("F", bound=Callable[..., Any])
_ndarray = np.ndarray
# This process's number: the system would be asked for it three times a request, 0.25 µs each.
_process = os.getpid()


def _forked() -> None:
    global _process
    _process = os.getpid()


os.register_at_fork(after_in_child=_forked)


class InferenceMonitor:
    """Watches predictions. What it does wrong is counted and logged, and never raised.

    The hooks only copy and note; counting, storing and judging happen in threads of its own,
    which start with the first request of a process, so a monitor made before a fork works in
    every child. Safe to use from many threads.

    `close` is final: predictions go on, and are watched no more.

    Args:
        plan: what is watched, and where the counts go.
        copy: whether arrays are copied; False only where nobody changes them afterwards.
    """

    def __init__(self, plan: Plan, *, copy: bool = True) -> None:
        self.plan = plan
        self.fence = Fence()
        self._copy = copy
        self._pid = -1
        self._session: Session | None = None
        self._inherited: Session | None = None
        self._opening: dict[int, threading.RLock] = {}
        self._closed = False

    @classmethod
    def open(
        cls,
        package: Path | str | ModelPackage,
        *,
        store: str = "memory://",
        bucket: int = 60,
        false_alarms: str | None = None,
        thresholds: Limits | None = None,
        alerts: Told | None = None,
        copy: bool = True,
    ) -> InferenceMonitor:
        """A monitor of the model in `package`, a folder or a .zip.

        Args:
            package: what to compare with.
            store: URL where processes and hosts share their counts; in memory, each is alone.
            bucket: seconds of a time bucket; divides an hour.
            false_alarms: such as ``"1 per 30d"``; left out, what the package says.
            thresholds: a file (TOML or JSON) or a mapping that goes over the package's, or all of
                them as one `Thresholds`.
            alerts: whom to tell, as a file or `AlertSettings`; the log is told in any case.
            copy: as the class.

        Raises:
            PackageError, MetadataError: it is no whole package.
            SettingError: a setting is impossible.
            UnknownKind: nobody offers such a store, or such a receiver of alerts.
        """
        if not isinstance(package, ModelPackage):
            package = ModelPackage.open(package)
        plan = Plan(
            package,
            store,
            bucket=bucket,
            false_alarms=false_alarms,
            alerts=told(alerts, os.environ),
            limits=thresholds,
        )
        return cls(plan, copy=copy)

    def before(self, inputs: Any) -> Seen:
        """Notes what goes into the model; hand the result to `after`."""
        if self._closed:
            return Seen(None)
        try:
            kept = self._kept(inputs) if self._copy else inputs
            seen = Seen(kept)
            seen.size = kept.nbytes if type(kept) is _ndarray else _size(kept)
        except Exception as error:
            self.fence.caught("before", error)
            seen = Seen(None)
        seen.started = perf_counter()
        return seen

    def after(
        self, seen: Seen, outputs: Any = None, *, failed: bool = False, refused: bool = False
    ) -> None:
        """Notes what came out, and how long it took; `failed` where nothing did, `refused` where
        the model was not asked at all."""
        if self._closed:
            return
        try:
            seen.seconds = perf_counter() - seen.started
            seen.at = time()
            seen.failed = failed
            seen.refused = refused
            if outputs is not None:
                kept = seen.outputs = self._kept(outputs) if self._copy else outputs
                seen.size += kept.nbytes if type(kept) is _ndarray else _size(kept)
            (self._session if self._pid == _process else self.session).append(seen)  # type: ignore[union-attr]
        except Exception as error:
            self.fence.caught("after", error)

    @contextmanager
    def observe(self, inputs: Any) -> Iterator[Seen]:
        """Both hooks around a block that sets ``seen.outputs``; an error of the block counts as
        a failed request and goes on its way."""
        seen = self.before(inputs)
        try:
            yield seen
        except BaseException:
            self.after(seen, failed=True)
            raise
        self.after(seen, seen.outputs)

    def watch(self, function: F) -> F:
        """The function, watched: its first argument goes into the model, its result comes out."""

        @functools.wraps(function)
        def watched(inputs: Any, *args: Any, **more: Any) -> Any:
            seen = self.before(inputs)
            try:
                outputs = function(inputs, *args, **more)
            except BaseException:
                self.after(seen, failed=True)
                raise
            self.after(seen, outputs)
            return outputs

        return watched  # type: ignore[return-value]

    @property
    def session(self) -> Session:
        """This process's own counting, storing and judging; once closed, there to be read only."""
        pid = _process
        if self._session is not None and self._pid == pid:
            return self._session
        # One lock a process: a child may have inherited one that nobody will ever let go of.
        with self._opening.setdefault(pid, threading.RLock()):
            if self._session is None or self._pid != pid:
                if self._session is not None:
                    # A child has its parent's memory, but neither its threads nor a right to its
                    # counts, failures or connections; the latter are not even to be closed here.
                    self._inherited = self._session
                    self.fence = Fence()
                session = Session(self.plan, self.fence)
                if not self._closed:
                    session.start()
                self._session, self._pid = session, pid
            return self._session

    @property
    def closed(self) -> bool:
        """Whether nothing is watched any more."""
        return self._closed

    def flush(self) -> bool:
        """Counts what waits and hands it to the store; False if the store is away.

        Once closed it opens nothing and says whether all was handed over by then.
        """
        if not self._closed:
            return self.session.flush()
        session = self._session if self._pid == _process else None
        return session is None or not session.courier.waiting

    def close(self) -> None:
        """Hands over the last counts and ends the threads, for good; again, it does nothing."""
        # Reentrant, since a signal's handler may close what its own thread is about to close.
        with self._opening.setdefault(_process, threading.RLock()):
            if self._closed:
                return
            try:
                if self._session is not None and self._pid == _process:
                    self._session.close()
            finally:
                self._closed = True

    def _kept(self, value: Any) -> Any:
        """A copy that later changes of `value` do not reach."""
        kind = type(value)
        if kind is _ndarray:
            return value.copy()
        if kind is dict:
            return {name: self._kept(each) for name, each in value.items()}
        if kind is tuple:
            return tuple(self._kept(each) for each in value)
        if kind is list and value and isinstance(value[0], dict):
            return [dict(row) for row in value]
        if kind is list and value and isinstance(value[0], _ndarray):
            return [each.copy() for each in value]
        return np.array(value)


def _size(value: Any) -> int:
    """Bytes of the arrays, about."""
    kind = type(value)
    if kind is _ndarray:
        return int(value.nbytes)
    if kind is dict:
        return sum([_size(each) for each in value.values()])
    if kind is tuple or kind is list:
        return sum([_size(each) for each in value])
    return 256
