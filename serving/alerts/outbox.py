"""The outbox: all couriers, each in a thread of its own, so a slow sink holds up nobody."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from driftline.metadata.errors import StoreError

from ..stores.store import Lease
from .courier import Courier

_logger = logging.getLogger(__name__)


class Outbox:
    """Starts the couriers and does not wait for them longer than asked."""

    def __init__(self, couriers: Sequence[Courier]) -> None:
        self._couriers = tuple(couriers)
        self._running: dict[str, threading.Thread] = {}

    def deliver(self, now: float, lease: Lease | None, wait: float) -> bool:
        """Starts each courier that is not still under way; True when all that were started have
        come back within `wait` seconds.

        The threads are daemons: a process that ends in the middle of a sending leaves the message
        in the outbox, from where it is sent again.
        """
        deadline = time.monotonic() + wait
        started: list[threading.Thread] = []
        for courier in self._couriers:
            before = self._running.get(courier.name)
            if before is not None and before.is_alive():
                continue
            thread = threading.Thread(
                target=_run, args=(courier, now, lease), name=f"alerts-{courier.name}", daemon=True
            )
            self._running[courier.name] = thread
            thread.start()
            started.append(thread)
        for thread in started:
            thread.join(max(deadline - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._running.values())


def _run(courier: Courier, now: float, lease: Lease | None) -> None:
    try:
        courier.run(now, lease)
    except StoreError as error:
        _logger.warning("alerts to %s wait for the store: %s", courier.name, error)
    except Exception:  # a thread that dies silently would leave a sink mute
        _logger.exception("the courier to %s failed", courier.name)
