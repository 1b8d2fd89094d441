"""What a user asked a monitor to do."""

from __future__ import annotations

import copy
import logging
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .desk import Watching
from .policies import Policies
from .probes.probe import Gauge, Probe
from .ranks import rank_and_size
from .record import Record
from .restoring import restore
from .rules.rule import Rule
from .runs import RunFolder
from .session import Session
from .settings import MonitorSettings
from .sinks.sink import Run, Sink

log = logging.getLogger("driftline")


@dataclass(frozen=True)
class Plan:
    """The parts of a monitor; a session is made of copies, so a plan serves several trainings."""

    folder: Path
    settings: MonitorSettings
    probes: Sequence[Probe]
    gauges: Sequence[Gauge]
    rules: Sequence[Rule]
    sinks: Sequence[Sink]
    policies: Policies

    def open(
        self,
        *,
        about: Mapping[str, str],
        steps: int | None = None,
        again: bool = False,
        past: Record | None = None,
    ) -> Session:
        """A session whose journal has begun and whose sinks are open.

        `again` continues a run that this plan itself has ended; `past` is what is remembered of
        it. Without that a continued run's journal is read, on the worker's thread.
        """
        rank, ranks = rank_and_size()
        settings = self.settings
        resume = True if again else settings.resume
        place = RunFolder(self.folder, run=settings.run, resume=resume, rank=rank)
        if past is not None and place.resumed_after is None:  # nothing could be written of it
            place.resumed_after = past.step
        sinks = self.sinks if rank == 0 else ()
        watching = Watching(copy.deepcopy(self.rules), self.policies, self.gauges, sinks)
        session = Session(
            place,
            settings.sampling,
            probes=copy.deepcopy(self.probes),
            watching=watching,
            ranks=ranks,
            past=past,
        )
        if past is None and place.resumed_after is not None:
            until = place.journal.n
            session.desk.first = lambda: restore(session.record, place.folder, until)
        if place.broken:
            log.info("run %s goes on. %s", place.run, place.broken)
        session.about = about
        place.start(about)
        run = Run(place.run, place.folder, place.journal, steps, about)
        for sink in sinks:
            session.fence.call(sink.kind, sink.open, run)
        return session


def about(network: Any = None, optimizer: Any = None, **more: object) -> dict[str, str]:
    """Versions and names for the first line of a journal."""
    import mindspore as ms

    found = {
        "mindspore": ms.__version__,
        "python": platform.python_version(),
        "mode": "graph" if ms.get_context("mode") == ms.GRAPH_MODE else "pynative",
        "device": str(ms.get_context("device_target")),
        "seed": str(ms.get_seed()),
    }
    if network is not None:
        found["network"] = type(network).__name__
        found["parameters"] = str(sum(each.size for each in network.get_parameters()))
    if optimizer is not None:
        found["optimizer"] = type(optimizer).__name__
    return found | {name: str(value) for name, value in more.items() if value is not None}
