"""What a training monitor writes down: points, events, where a run starts and ends.

One JSON object a line in the journal, told apart by ``kind``. Values that are not finite are null.
"""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import Struct

from driftline.metadata.quality import Event

Severity = Literal["info", "warning", "critical"]
Source = Literal["step", "epoch", "metric", "gauge"]

GRADIENT = "grad_norm/"
PARAMETER = "param_norm/"


@dataclass(frozen=True, slots=True)
class Sample:
    """What the training thread took at one step; `time` in unix seconds.

    `overflows` counts the steps skipped since the sample before it, this one left out.
    """

    step: int
    epoch: int
    time: float
    values: Mapping[str, float]
    rows_seen: int = 0
    overflows: float = 0.0


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """The end of an epoch, with the metrics an evaluation gave."""

    epoch: int
    step: int
    time: float
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Metric:
    """A value that the user's script gave."""

    step: int
    time: float
    name: str
    value: float


class Entry(Struct, tag_field="kind", kw_only=True):
    """A line of the journal; `n` counts them over all the lives of a run, from 1."""

    time: str
    n: int = 0


class Point(Entry, tag="point", omit_defaults=True):
    """The values of one step, by name.

    `source` says where they come from: a step, the end of an epoch (which is then `epoch`), the
    user's script, or what is read beside the steps. `rows` counts those trained on up to here.
    """

    step: int
    values: dict[str, float | None]
    source: Source = "step"
    rows: int = 0
    epoch: int = 0


class Notice(Entry, tag="event"):
    """A rule has found something; `sentence` is for people."""

    step: int
    rule: str
    severity: Severity
    sentence: str

    def event(self) -> Event:
        """The same as the metadata hold it."""
        return Event(rule=self.rule, step=self.step, severity=self.severity, sentence=self.sentence)


class Start(Entry, tag="start"):
    """A process begins to write; `resumed_after` is the last step of the one before it.

    `broken` says in words where the one before it stopped, if it did not end by itself.
    """

    run: str
    rank: int = 0
    resumed_after: int | None = None
    broken: str | None = None
    about: dict[str, str] = {}


class End(Entry, tag="end"):
    """A process ended by itself; `dropped` counts samples for which the queue had no room."""

    step: int
    reason: str
    dropped: int = 0


class Saved(Entry, tag="checkpoint"):
    """The training saved a checkpoint; `loss` is the smoothed one at that moment."""

    step: int
    path: str
    loss: float | None = None


Line = Point | Notice | Start | End | Saved

encoder = msgspec.json.Encoder()
decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def stamp(seconds: float) -> str:
    """ISO-8601 in UTC with milliseconds and ``Z``, of unix seconds."""
    whole = int(seconds)
    return f"{_second(whole)}.{int((seconds - whole) * 1000):03d}Z"


_last = (-1, "")


def _second(whole: int) -> str:
    """The stamp's part down to the second; many points share one, and strftime is slow."""
    global _last
    if _last[0] != whole:
        _last = (whole, clock.strftime("%Y-%m-%dT%H:%M:%S", clock.gmtime(whole)))
    return _last[1]
