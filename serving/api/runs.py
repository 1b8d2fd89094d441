"""``/runs``: trainings push their points here, and pages and programs read them back.

Times of events and runs are ISO-8601; the column ``unix_times`` of points holds Unix seconds, as
they are pushed, so that a long series stays small.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from flask import Blueprint, Response, request

from ..runs.push import check_name, check_run, parse_push
from ..runs.runs import Runs
from ..runs.sources import run_list
from ..runs.summary import Summary
from ..runs.wire import columns, event, overview
from ..stream import Streams
from .context import limited, reply
from .errors import Refused
from .query import number

MOST_BODY = 4 * 2**20
MOST_REPORT = 2**20
MOST_BINS = 5_000
MOST_CELLS = 400_000
_LAST_STEP = 2**53


def blueprint(runs: Callable[[], Runs], streams: Streams) -> Blueprint:
    """The routes over the runs that `runs` gives, called once a request; `streams` are told of
    what arrives."""
    routes = Blueprint("runs", __name__)

    @routes.post("/runs/<run>/points")
    def push(run: str) -> Response:
        """Takes points and events in, once by (run, sequence)."""
        check_run(run)
        if not request.is_json:
            raise Refused(415, "unsupported_media_type", "application/json is wanted", "body")
        limited(MOST_BODY)
        receipt = runs().push(run, parse_push(request.get_data()))
        streams.wake(f"run:{run}")
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
        return reply({"runs": run_list(runs())})

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
        told["events"] = [event(each) for each in found.events(run, summary.life)]
        told["report"] = found.report(run) is not None
        return reply(told)

    @routes.get("/runs/<run>/points")
    def points(run: str) -> Response:
        """The run's series: raw after batch ``after``, or down-sampled to ``points`` rows between
        the steps ``from`` and ``to``; ``name``, ``prefix`` and ``without`` choose names."""
        found = runs()
        summary = _known(found, run)
        names = chosen(list(summary.latest))
        if "after" in request.args:
            news = found.news(run, summary.life, number("after", 0, 2**62))
            rows, after, more = news.rows.pick(names), news.after, news.more
        else:
            low, high = number("from", 0, _LAST_STEP), number("to", _LAST_STEP, _LAST_STEP)
            rows, after, more = found.rows(run, summary, names, low, high), summary.entry, False
        if "after" not in request.args or "points" in request.args:
            rows = rows.binned(bins(number("points", 1_000, MOST_BINS), len(names)))
        where = {"run": run, "life": summary.life, "after": after, "more": more}
        return reply({**where, **columns(rows)})

    @routes.put("/runs/<run>/report")
    def put_report(run: str) -> Response:
        """Keeps the training's report, Markdown in UTF-8."""
        found = runs()
        _known(found, run)
        limited(MOST_REPORT)
        try:
            found.put_report(run, request.get_data().decode("utf-8"))
        except UnicodeDecodeError:
            raise Refused(422, "bad_input", "UTF-8 is wanted", "body") from None
        return reply({"kept": True})

    @routes.get("/runs/<run>/report")
    def report(run: str) -> Response:
        """The training's report as plain text: what is in it came from elsewhere."""
        text = runs().report(run)
        if text is None:
            raise Refused(404, "not_found", f"there is no report of {run[:100]!r}", "run")
        response = Response(text, content_type="text/plain; charset=utf-8")
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        return response

    return routes


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


def _known(runs: Runs, run: str) -> Summary:
    summary = runs.summary(run)
    if summary is None:
        raise Refused(404, "not_found", f"there is no run {run[:100]!r}", "run")
    return summary
