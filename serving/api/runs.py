"""``/runs``: trainings push their points here, and pages and programs read them back.

Times of events and runs are ISO-8601; the column ``unix_times`` of points holds Unix seconds, as
they are pushed, so that a long series stays small.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, request

from driftline.metadata.errors import InputError

from ..run_push import check_name, check_run, iso, parse_push
from ..run_rows import Rows
from ..run_summary import RunEvent, Summary
from ..runs import Runs
from .context import reply
from .errors import Refused

MOST_BODY = 4 * 2**20
MOST_BINS = 5_000
MOST_CELLS = 400_000
# A run that was heard of within so many seconds is live.
LIVE_SECONDS = 30.0
_LAST_STEP = 2**53


def blueprint(runs: Callable[[], Runs]) -> Blueprint:
    """The routes over the runs that `runs` gives; called once a request."""
    routes = Blueprint("runs", __name__)

    @routes.post("/runs/<run>/points")
    def push(run: str) -> Response:
        """Takes points and events in, once by (run, sequence)."""
        check_run(run)
        if not request.is_json:
            raise Refused(415, "unsupported_media_type", "application/json is wanted", "body")
        request.max_content_length = MOST_BODY
        receipt = runs().push(run, parse_push(request.get_data()))
        return reply(
            {
                "accepted": receipt.accepted,
                "duplicate": receipt.duplicate,
                "sequence": receipt.sequence,
            }
        )

    @routes.get("/runs")
    def listed() -> Response:
        """All runs, the one heard of last first."""
        found, now = runs(), time.time()
        told = [
            overview(name, summary, now)
            for name in found.names()
            if (summary := found.summary(name)) is not None
        ]
        return reply({"runs": sorted(told, key=lambda each: str(each["received"]), reverse=True)})

    @routes.get("/runs/<run>")
    def one(run: str) -> Response:
        """One run: its figures, the last value of every name, its events."""
        found = runs()
        summary = _known(found, run)
        told = overview(run, summary, time.time())
        told["sequence"] = summary.pushed
        told["latest"] = {
            name: {"step": step, "value": value} for name, (step, value) in summary.latest.items()
        }
        told["events"] = [event(each) for each in found.events(run)]
        return reply(told)

    @routes.get("/runs/<run>/points")
    def points(run: str) -> Response:
        """The run's series: raw after batch ``after``, or down-sampled to ``points`` rows between
        the steps ``from`` and ``to``; ``name``, ``prefix`` and ``without`` choose names."""
        found = runs()
        summary = _known(found, run)
        names = chosen(list(summary.latest))
        if "after" in request.args:
            news = found.news(run, number("after", 0, 2**62))
            rows, after, more = news.rows.pick(names), news.after, news.more
        else:
            low, high = number("from", 0, _LAST_STEP), number("to", _LAST_STEP, _LAST_STEP)
            rows, after, more = found.rows(run, summary, names, low, high), summary.entry, False
        if "after" not in request.args or "points" in request.args:
            rows = rows.binned(bins(number("points", 1_000, MOST_BINS), len(names)))
        return reply({"run": run, "after": after, "more": more, **columns(rows)})

    return routes


def overview(name: str, summary: Summary, now: float) -> dict[str, Any]:
    """A run in the list of runs."""
    heard = summary.points > 0
    return {
        "run": name,
        "state": "live" if now - summary.received < LIVE_SECONDS else "silent",
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


def event(each: RunEvent) -> dict[str, Any]:
    """An event of a run."""
    return {
        "step": each.step,
        "time": iso(each.time),
        "rule": each.rule,
        "severity": each.severity,
        "sentence": each.sentence,
    }


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


def chosen(names: list[str]) -> list[str]:
    """The names that the request wants."""
    wanted, prefix = request.args.getlist("name"), request.args.get("prefix", "")
    without = request.args.get("without", "")
    for name in wanted:
        check_name("name", name)
    return [
        name
        for name in names
        if (not wanted or name in wanted)
        and name.startswith(prefix)
        and not (without and name.startswith(without))
    ]


def bins(wanted: int, names: int) -> int:
    """As many rows as are wanted, or as keep the answer bounded."""
    return max(1, min(wanted, MOST_CELLS // max(names, 1)))


def number(name: str, default: int, most: int) -> int:
    """A whole number of the query.

    Raises:
        InputError: it is none, or not within 0 and `most`.
    """
    text = request.args.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 20 or int(text) > most:
        raise InputError(name, f"a whole number from 0 to {most} is wanted")
    return int(text)


def _known(runs: Runs, run: str) -> Summary:
    summary = runs.summary(run)
    if summary is None:
        raise Refused(404, "not_found", f"there is no run {run[:100]!r}", "run")
    return summary
