"""``GET /metrics``: the store's totals for Prometheus, the same from whichever worker answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from flask import Blueprint, Flask, Response, g, request
from prometheus_client.core import Metric

from ..evaluation.desk import Desk
from ..evaluation.standing import Standing
from ..hooks.session import Session
from ..metrics import verdicts
from ..metrics.alerts import AlertCollector
from ..metrics.exposition import Exposition, Part, exposed
from ..metrics.histogram import REQUEST
from ..metrics.models import ModelCollector, Packaged
from ..metrics.service import predicts
from ..metrics.training import RunCollector
from ..model.watched import Watched
from ..runs.runs import Runs
from ..stores.store import Store
from .context import for_the_route


def blueprint(
    store: Callable[[], Store], engine: Watched | None, desks: Sequence[Desk] = ()
) -> Blueprint:
    """The route; without an `engine`, of trainings alone, and of the alerts of `desks`. `store` is
    asked once a request."""
    routes = Blueprint("metrics", __name__)

    @routes.get("/metrics")
    def metrics() -> Response:
        """The text in the format that the client prefers."""
        now = time.time()
        told = desks if engine is None else engine.monitor.session.desks
        alerts = AlertCollector({desk.book: desk.alerts for desk in told})
        parts: list[Part] = [RunCollector(Runs(store()), now), alerts]
        if engine is None:
            exposition = Exposition(parts, lambda: ())
        else:
            exposition = _served(engine, parts, now)
        body, content_type = exposed(exposition, request.headers.get("Accept", ""))
        return Response(body, content_type=content_type)

    return routes


def timed(app: Flask, session: Callable[[], Session]) -> None:
    """Counts the seconds that prediction requests take, from their arrival to their answer."""

    @app.before_request
    def begin() -> None:
        g.began = perf_counter()

    @app.after_request
    def finish(response: Response) -> Response:
        if predicts(request.endpoint or "") and "began" in g and for_the_route():
            for counter, by in REQUEST.one(perf_counter() - g.began).items():
                session().noticed(counter, by)
        return response


def _served(engine: Watched, parts: list[Part], now: float) -> Exposition:
    session, model = engine.monitor.session, engine.metadata.model
    own = (model.name, model.version)

    def remember(standing: Standing) -> None:
        session.last_standing = standing

    def fallback() -> Iterator[Metric]:
        if session.last_standing is not None:
            yield from verdicts.families({own: session.last_standing})

    models = ModelCollector(session.store, own, now=now, remember=remember)
    return Exposition([models, Packaged(engine.metadata), *parts], fallback)
