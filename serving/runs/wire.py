"""Runs as clients see them: plain objects, times in ISO-8601, columns of numbers."""

from __future__ import annotations

from typing import Any

from ..pages.words_events import in_chinese
from .push import iso
from .rows import Rows
from .summary import ENDED, RunEvent, Summary

# A run that was heard of within so many seconds is live.
LIVE_SECONDS = 30.0


def overview(name: str, summary: Summary, now: float) -> dict[str, Any]:
    """A run in the list of runs."""
    heard = summary.points > 0
    return {
        "run": name,
        "state": _state(summary, now),
        "points": summary.points,
        "first_step": summary.first_step if heard else None,
        "last_step": summary.last_step if heard else None,
        "started": iso(summary.first_time) if heard else None,
        "updated": iso(summary.last_time) if heard else None,
        "received": iso(summary.received),
        "loss": summary.latest.get("loss", (0, None))[1],
        "events": summary.events,
        "last_event": None if summary.last_event is None else event(summary.last_event),
    }


def _state(summary: Summary, now: float) -> str:
    """ended: it said so; live: it was heard of a moment ago; silent: neither."""
    if summary.last_event is not None and summary.last_event.rule == ENDED:
        return "ended"
    return "live" if now - summary.received < LIVE_SECONDS else "silent"


def event(each: RunEvent) -> dict[str, Any]:
    """An event of a run; ``sentence_zh`` beside its sentence where the Chinese one is known."""
    told = {
        "step": each.step,
        "time": iso(each.time),
        "rule": each.rule,
        "severity": each.severity,
        "sentence": each.sentence,
    }
    chinese = in_chinese(each.rule, each.sentence)
    return told if chinese is None else told | {"sentence_zh": chinese}


def columns(rows: Rows) -> dict[str, Any]:
    """Rows as columns; ``low`` and ``high`` stand beside the mean where a row is a stretch."""
    series: dict[str, dict[str, Any]] = {}
    for index, name in enumerate(rows.names):
        series[name] = {"values": rows.mean[:, index].tolist()}
        if not rows.is_exact:
            series[name]["low"] = rows.low[:, index].tolist()
            series[name]["high"] = rows.high[:, index].tolist()
    return {
        "sampled": not rows.is_exact,
        "steps": rows.last.tolist(),
        "unix_times": [round(each, 3) for each in rows.times.tolist()],
        "series": series,
    }
