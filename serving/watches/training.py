"""The watch over trainings: what their rules found lately, as conditions.

That a training began, goes on or is over is no condition, however it is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from driftline.drift.verdict import Severity

from ..alerts.condition import Condition
from ..pages.words_events import in_chinese
from ..runs.runs import KEEP_EVENTS
from ..runs.summary import LIFE, RunEvent
from ..stores.store import Store

# A rule speaks once when something begins and does not say when it is over; so long its word
# counts. Events that were pushed late (a board that was away) are told all the same.
LASTING_SECONDS = 600.0
MODEL = "training"

_SEVERITIES: dict[str, Severity] = {"info": "minor", "warning": "moderate", "critical": "major"}
# ``run/events/<life>/<run>``; no name of a run has a slash.
_LOG = "run/events/"


@dataclass(slots=True)
class _Run:
    after: int = 0
    # The last event of each rule, and until when it counts.
    heard: dict[str, tuple[RunEvent, float]] = field(default_factory=dict)


class TrainingWatch:
    """One condition a run and rule; model ``training``, version the run, name the rule.

    Args:
        store: where the runs are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs: dict[str, _Run] = {}
        self._looked = False

    def __call__(self, now: float) -> list[Condition]:
        """What holds at `now`.

        Raises:
            StoreError: the store is away.
        """
        logs = self._store.logs(_LOG)
        self._runs = {log: self._runs.get(log, _Run()) for log in logs}
        found: list[Condition] = []
        for log, run in self._runs.items():
            self._read(log, run, now)
            name = log.rpartition("/")[2]
            found += [_condition(name, event, now < until) for event, until in run.heard.values()]
        self._looked = True
        return found

    def _read(self, log: str, run: _Run, now: float) -> None:
        for entry in self._store.entries(log, run.after, KEEP_EVENTS):
            run.after = entry.sequence
            try:
                event = msgspec.msgpack.decode(entry.value, type=RunEvent)
            except msgspec.MsgspecError:
                continue
            # At the first look, what lies long back was told by whoever watched before.
            heard = now if self._looked else min(event.time, now)
            if event.is_note:
                # It goes on, or came to its end after all: how it broke off before is over.
                for rule in LIFE & run.heard.keys():
                    run.heard[rule] = run.heard[rule][0], heard
            else:
                run.heard[event.rule] = event, heard + LASTING_SECONDS


def _condition(run: str, event: RunEvent, firing: bool) -> Condition:
    # A rule of the user's own speaks one language.
    chinese = in_chinese(event.rule, event.sentence) or event.sentence
    return Condition(
        kind="training",
        model=MODEL,
        version=run,
        name=event.rule,
        firing=firing,
        severity=_SEVERITIES.get(event.severity, "moderate"),
        since=event.time,
        sentence_en=f"Step {event.step}: {event.sentence}",
        sentence_zh=f"第 {event.step} 步:{chinese}",
    )
