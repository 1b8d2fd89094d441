"""``GET /stream``: server-sent events for both pages, and for whoever likes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Blueprint, Response, request

from driftline.metadata.errors import InputError

from ..runs.push import check_name, check_run
from ..runs.runs import Runs
from ..runs.sources import RunSource, Topic, run_list
from ..stream import Source, Streams, cursors
from .errors import Refused
from .query import number
from .runs import MOST_BINS

MOST_RUNS = 12
# What to tell beyond runs, by topic, as /stream?topic= names it.
Topics = Mapping[str, Callable[[], Any]]


def blueprint(runs: Callable[[], Runs], streams: Streams, topics: Topics) -> Blueprint:
    """The route over the runs that `runs` gives and further `topics`."""
    routes = Blueprint("stream", __name__)

    @routes.get("/stream")
    def stream() -> Response:
        """``run`` (several) and ``topic`` (several) choose; ``points`` and ``without`` shape the
        histories of runs; ``last`` stands for the header ``Last-Event-ID``."""
        sources = _sources(runs(), streams, topics)
        last = request.headers.get("Last-Event-ID") or request.args.get("last", "")
        environ = request.environ
        client = environ.get("gunicorn.socket") or environ.get("werkzeug.socket")
        if not streams.enter():
            raise Refused(503, "too_many_streams", "all streams are taken; ask again, or poll")
        content = streams.events(sources, cursors(last), client)
        response = Response(content, mimetype="text/event-stream")
        # Also when the content is never read, as for HEAD.
        response.call_on_close(streams.leave)
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Accel-Buffering"] = "no"
        return response

    return routes


def _sources(runs: Runs, streams: Streams, topics: Topics) -> list[Source]:
    names, wanted = request.args.getlist("run"), request.args.getlist("topic")
    if len(names) > MOST_RUNS:
        raise InputError("run", f"a stream follows at most {MOST_RUNS} runs")
    known: Topics = {"runs": lambda: {"runs": run_list(runs)}, **topics}
    bins, without = number("points", 1_000, MOST_BINS), request.args.get("without", "")
    if without:
        check_name("without", without)
    found: list[Source] = []
    for name in dict.fromkeys(wanted):
        if name not in known:
            raise InputError("topic", f"is one of {', '.join(known)}")
        found.append(Topic(name, known[name], streams))
    for name in dict.fromkeys(names):
        check_run(name)
        found.append(RunSource(name, runs, streams, bins=max(bins, 1), without=without))
    if not found:
        raise InputError("topic", f"nothing to follow: a run, or {', '.join(known)}")
    return found
