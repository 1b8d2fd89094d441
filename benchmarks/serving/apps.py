"""The applications that are compared, for ``gunicorn 'benchmarks.serving.apps:application("…")'``.

``batched`` and ``unbatched`` are the service itself. ``off`` is the service without its monitor:
no hooks, no warnings, no counting, no thread. ``floor`` is a Flask route that reads the same JSON
and answers always the same, without a model.
"""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Flask, Response, request
from msgspec.structs import replace

from driftline.metadata.package import ModelPackage
from driftline.serving import app
from driftline.serving.api import predict
from driftline.serving.hooks.seen import Seen
from driftline.serving.model import predictor
from driftline.serving.model.engine import Engine
from driftline.serving.settings import Settings, load

VARIANTS = ("batched", "unbatched", "off", "floor")


def application(variant: str, package: str, state: str, answer: str = "") -> Flask:
    """The application of one worker; `answer` is what the floor says."""
    if variant == "floor":
        return _floor(answer.encode())
    settings = load({"package": package, "state": state}, {})
    if variant == "off":
        return _off(settings)
    if variant == "unbatched":
        settings = replace(settings, batch_rows=1)
    return app.create_app(settings)


def _floor(answer: bytes) -> Flask:
    decode = msgspec.json.Decoder(predict.PredictRequest).decode
    made = Flask(__name__, static_folder=None)

    @made.post("/predict")
    def route() -> Response:
        decode(request.get_data(cache=False))
        return Response(answer, mimetype="application/json")

    return made


def _off(settings: Settings) -> Flask:
    package = ModelPackage.open(settings.package)
    loaded = predictor.load(package, sizes=settings.batch_sizes)
    blind: Any = _Blind(app.plan_of(settings, package))
    engine = Engine(package, loaded, blind, batching=app.batching_of(settings, loaded))
    return app.wired(engine, settings)


class _Blind:
    """A monitor that sees nothing."""

    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.session = self
        # No group of columns: nothing is extracted, so nothing is warned of.
        plan.columns.groups = ()

    def before(self, inputs: Any) -> Seen:
        return Seen(None)

    def noticed(self, counter: str, by: float = 1.0) -> None:
        pass

    def after(self, *_: Any, **__: Any) -> None:
        pass
