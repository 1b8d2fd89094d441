"""``/v2``: the Open Inference Protocol, as KServe, Triton and their clients speak it.

Errors are ``{"error": "…"}`` here, and what does not fit is a 400, as the protocol says.
"""

from __future__ import annotations

import logging
from importlib import metadata as distributions

from flask import Blueprint, Response, request
from werkzeug.exceptions import HTTPException

from driftline.metadata.errors import InputError

from ..feedback.joining import MOST_ID
from ..inference.datatypes import described
from ..inference.inputs import arrays_of
from ..inference.outputs import wanted, written
from ..inference.wire import HEAD_LENGTH, parsed
from ..model.engine import Engine
from .context import engine, reply, request_id
from .errors import Refused

log = logging.getLogger(__name__)

blueprint = Blueprint("v2", __name__, url_prefix="/v2")

CONTENT = ("application/json", "application/octet-stream", "")


@blueprint.get("")
def server() -> Response:
    """The server and the protocol's extensions that it has."""
    return reply(
        {
            "name": "driftline",
            "version": distributions.version("driftline"),
            "extensions": ["binary_tensor_data", "model_repository"],
        }
    )


@blueprint.get("/health/live")
def live() -> Response:
    """The process runs."""
    return reply({"live": True})


@blueprint.get("/health/ready")
def ready() -> Response:
    """The model answers."""
    _served()
    return reply({"ready": True})


@blueprint.post("/repository/index")
def repository() -> Response:
    """The one model that is served, in the form of a list."""
    model = _served().metadata.model
    return reply([{"name": model.name, "version": model.version, "state": "READY", "reason": ""}])


@blueprint.get("/models/<model>")
@blueprint.get("/models/<model>/versions/<version>")
def model(model: str, version: str | None = None) -> Response:
    """The model's inputs and outputs."""
    metadata = _known(model, version).metadata
    return reply(
        {
            "name": metadata.model.name,
            "versions": [metadata.model.version],
            "platform": metadata.framework.name,
            "inputs": [described(spec) for spec in metadata.inputs],
            "outputs": [described(spec) for spec in metadata.outputs],
        }
    )


@blueprint.get("/models/<model>/ready")
@blueprint.get("/models/<model>/versions/<version>/ready")
def model_ready(model: str, version: str | None = None) -> Response:
    """The model answers."""
    metadata = _known(model, version).metadata
    return reply({"name": metadata.model.name, "ready": True})


@blueprint.post("/models/<model>/infer")
@blueprint.post("/models/<model>/versions/<version>/infer")
def infer(model: str, version: str | None = None) -> Response:
    """The outputs for the inputs of the request."""
    served = _known(model, version)
    if request.mimetype not in CONTENT:
        raise Refused(415, "unsupported_media_type", f"one of {', '.join(CONTENT[:2])} is wanted")
    asked, binary = parsed(request.get_data(cache=False), request.headers.get(HEAD_LENGTH))
    metadata = served.metadata
    chosen = wanted(asked, tuple(spec.name for spec in metadata.outputs))
    arrays = arrays_of(asked.inputs, binary)
    only = len(metadata.inputs) == 1 and metadata.inputs[0].name in arrays
    field = f"inputs.{metadata.inputs[0].name}" if only else "inputs"
    answered = served.infer(arrays, field, request_id=_key(asked.id))
    head = {"model_name": metadata.model.name, "model_version": metadata.model.version}
    if asked.id is not None:
        head["id"] = asked.id
    found = written(head, answered.outputs, chosen)
    if found.head is None:
        return Response(found.body, mimetype="application/json")
    response = Response(found.body, mimetype="application/octet-stream")
    response.headers[HEAD_LENGTH] = str(found.head)
    return response


@blueprint.errorhandler(InputError)
def _input(problem: InputError) -> Response:
    return reply({"error": str(problem)}, 400)


@blueprint.errorhandler(Refused)
def _refused(problem: Refused) -> Response:
    return reply({"error": problem.message}, problem.status)


@blueprint.errorhandler(HTTPException)
def _http(problem: HTTPException) -> Response:
    return reply({"error": problem.description or problem.name}, problem.code or 500)


@blueprint.errorhandler(Exception)
def _unexpected(problem: Exception) -> Response:
    log.error("an inference failed: %s", problem, exc_info=problem)
    return reply({"error": "The service failed to answer; its log says why."}, 500)


def _key(asked: str | None) -> str:
    """Under which id labels may come: the client's own, where it is a handy one."""
    return asked if asked and len(asked) <= MOST_ID else request_id()


def _served() -> Engine:
    """The engine; 503 while there is none."""
    try:
        return engine()
    except KeyError:
        raise Refused(503, "unavailable", "no model is loaded yet") from None


def _known(model: str, version: str | None) -> Engine:
    served = _served()
    own = served.metadata.model
    if model != own.name or version not in (None, own.version):
        asked = model if version is None else f"{model}, version {version}"
        reason = f"there is no model {asked[:200]!r}; served is {own.name!r}, version {own.version}"
        raise Refused(404, "not_found", reason)
    return served
