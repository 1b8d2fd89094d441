"""The applications that are compared, for ``gunicorn 'benchmarks.serving.apps:application("…")'``.

``batched`` and ``unbatched`` are the service itself. ``floor`` is a Flask route that reads the same
JSON and answers always the same, without a model. Beside ``batched``, in the same process and with
the same model, lies the service without its monitor, under ``/off``: no hooks, no warnings, no
counting. One process is up to a tenth quicker than another of the same program, and what the
monitor costs is less. The judge of the watched one goes on meanwhile: its half per cent of a core
is in both.
"""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Flask, Response, request
from msgspec.structs import replace
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from driftline.serving import app
from driftline.serving.api import predict
from driftline.serving.hooks.seen import Seen
from driftline.serving.model.engine import Engine
from driftline.serving.server import settle
from driftline.serving.settings import Settings, load

APPLICATIONS = ("batched", "unbatched", "floor")


def application(name: str, package: str, state: str, answer: str = "") -> Any:
    """The application of one worker; `answer` is what the floor says."""
    if name == "floor":
        made: Any = _floor(answer.encode())
    elif name == "unbatched":
        settings = replace(load({"package": package, "state": state}, {}), batch_rows=1)
        made = app.create_app(settings)
    else:
        settings = load({"package": package, "state": state}, {})
        watched = app.create_app(settings)
        made = DispatcherMiddleware(
            watched, {"/off": _off(watched.extensions["driftline"], settings)}
        )
    settle()
    return made


def _floor(answer: bytes) -> Flask:
    decode = msgspec.json.Decoder(predict.PredictRequest).decode
    made = Flask(__name__, static_folder=None)

    @made.post("/predict")
    def route() -> Response:
        decode(request.get_data(cache=False))
        return Response(answer, mimetype="application/json")

    return made


def _off(watched: Engine, settings: Settings) -> Flask:
    """The same engine, but for its monitor; with a batcher of its own, as it has to have."""
    blind: Any = _Blind(app.plan_of(settings, watched.package))
    model = watched.predictor
    engine = Engine(watched.package, model, blind, batching=app.batching_of(settings, model))
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
