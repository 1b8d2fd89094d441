"""What both live pages need, registered in one call: runs, streams, sign-in and the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask

from ..model.engine import Engine
from ..runs.runs import Runs
from ..secret import Secret
from ..stores.store import Store
from ..stream import Streams
from . import runs, stream
from .pages import blueprint as pages

STREAMS = "driftline.streams"


def register(
    app: Flask,
    store: Callable[[], Store],
    *,
    token: Secret | None,
    threads: int,
    engine: Engine | None = None,
) -> None:
    """Adds ``/runs``, ``/stream`` and the pages to an application with `threads` threads.

    Without an `engine` the training page stands alone. `store` is asked once a request.
    """
    # Each stream holds a thread: at least half of them stay free for everything else.
    streams = Streams(max(1, threads // 2))
    app.extensions[STREAMS] = streams

    def kept() -> Runs:
        return Runs(store())

    app.register_blueprint(runs.blueprint(kept, streams))
    app.register_blueprint(stream.blueprint(kept, streams, _topics(engine)))
    app.register_blueprint(pages(token, engine))


def worker_began(worker: Any) -> None:
    """gunicorn's hook ``post_worker_init``: streams end when their worker is told to."""
    application = getattr(worker, "wsgi", None)
    if isinstance(application, Flask) and STREAMS in application.extensions:
        application.extensions[STREAMS].until(lambda: not worker.alive)


def _topics(engine: Engine | None) -> stream.Topics:
    """Changes of verdict and alerts, told as little more than that there are some."""
    if engine is None:
        return {}

    def drift() -> dict[str, Any]:
        session = engine.monitor.session
        found = session.store.get(session.plan.series.verdict)
        return {"version": found[0] if found else 0}

    def alerts() -> dict[str, Any]:
        desks = engine.monitor.session.desks
        told = [each for desk in desks for each in desk.alerts.open_alerts()]
        return {
            "open": [
                {"id": each.id, "severity": each.severity, "taken": each.acknowledged is not None}
                for each in told
            ]
        }

    return {"drift": drift, "alerts": alerts}
