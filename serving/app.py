"""The Flask application: wiring only."""

from __future__ import annotations

import os

from flask import Flask, Response, request

from driftline.metadata.package import ModelPackage

from .alerting import alerts_of
from .api import (
    admin,
    alerts,
    context,
    drift,
    errors,
    feedback,
    health,
    inference,
    live,
    metadata,
    metrics,
    openapi,
    predict,
    refresh,
    security,
)
from .hooks.monitor import InferenceMonitor
from .hooks.session import Plan
from .model import predictor
from .model.engine import Batching, Engine
from .settings import Settings

BLUEPRINTS = (predict, inference, feedback, admin, refresh, drift, metadata, health)


def create_app(settings: Settings) -> Flask:
    """The application of one worker, its model loaded and warm. To be called after the fork.

    Raises:
        PackageError, MetadataError: the package is damaged, or its model does not load.
        SettingError: a setting cannot be.
    """
    package = ModelPackage.open(settings.package)
    loaded = predictor.load(
        package,
        predictor=settings.predictor,
        network=settings.network,
        sizes=settings.batch_sizes,
    )
    # The arrays are this request's own and nobody changes them: the hooks need no copy.
    monitor = InferenceMonitor(plan_of(settings, package), copy=False)
    engine = Engine(
        package,
        loaded,
        monitor,
        most=settings.max_instances,
        most_pixels=settings.max_pixels,
        batching=batching_of(settings, loaded),
    )
    return wired(engine, settings)


def batching_of(settings: Settings, loaded: predictor.Predictor) -> Batching | None:
    """How requests are joined: up to the largest batch that the model was warmed for."""
    if settings.batch_rows == 1:
        return None
    largest = loaded.largest if isinstance(loaded, predictor.Padded) else max(settings.batch_sizes)
    rows = min(settings.batch_rows or largest, largest)
    sizes = (*sorted(size for size in settings.batch_sizes if size < rows), rows)
    return Batching(sizes=sizes, seconds=settings.batch_wait_ms / 1000.0)


def plan_of(settings: Settings, package: ModelPackage) -> Plan:
    """What the settings want to be watched."""
    return Plan(
        package,
        settings.state,
        bucket=settings.bucket,
        false_alarms=settings.false_alarms,
        low_confidence=settings.low_confidence,
        latency_ms=settings.latency_ms,
        alerts=alerts_of(settings, os.environ),
        limits=settings.thresholds,
    )


def wired(engine: Engine, settings: Settings) -> Flask:
    """The routes around an engine."""
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body
    app.config[refresh.INTO] = settings.refresh_folder
    app.extensions["driftline"] = engine
    metrics.timed(app, lambda: engine.monitor.session)
    app.before_request(context.begin_request)
    security.register(app, settings.token)
    errors.register(app)
    for module in BLUEPRINTS:
        app.register_blueprint(module.blueprint)
    app.register_blueprint(openapi.blueprint(token=settings.token is not None))
    app.register_blueprint(alerts.blueprint(lambda: engine.monitor.session.desks))
    app.register_blueprint(metrics.blueprint(lambda: engine.monitor.session.store, engine))
    live.register(
        app,
        lambda: engine.monitor.session.store,
        token=settings.token,
        threads=settings.threads,
        engine=engine,
    )

    @app.after_request
    def finish(response: Response) -> Response:
        response.headers["X-Request-Id"] = context.request_id()
        endpoint = request.endpoint
        if endpoint and context.for_the_route() and not endpoint.startswith("health."):
            engine.monitor.session.noticed(f"responses|{endpoint}|{response.status_code}")
        return response

    return app
