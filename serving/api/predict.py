"""``POST /predict``."""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Blueprint, Response, request
from msgspec import Struct

from ..model.intake import FIELD, Arrays, Intake
from .context import engine, reply, request_id
from .errors import Refused

blueprint = Blueprint("predict", __name__)

JSON, NPY = "application/json", "application/x-npy"
IMAGES = ("image/png", "image/jpeg")


class PredictRequest(Struct, forbid_unknown_fields=True):
    """The JSON body."""

    instances: list[Any]


_decode = msgspec.json.Decoder(PredictRequest).decode


@blueprint.post("/predict")
def predict() -> Response:
    """One prediction for each instance."""
    served = engine()
    arrays, field = _arrays(served.intake)
    answered = served.infer(arrays, field, explained=True, request_id=request_id())
    model = served.metadata.model
    return reply(
        {
            "request_id": request_id(),
            "model": {"name": model.name, "version": model.version},
            "predictions": answered.predictions,
            "warnings": answered.warnings,
        }
    )


def _arrays(intake: Intake) -> tuple[Arrays, str]:
    """What the body holds, and what its instances are called in errors."""
    kind = request.mimetype
    if kind in (JSON, ""):
        return intake.instances(_instances()), FIELD
    if kind == NPY:
        return intake.npy(request.get_data(cache=False)), "body"
    if kind in IMAGES:
        return intake.image(request.get_data(cache=False)), "body"
    wanted = ", ".join((JSON, NPY, *IMAGES))
    raise Refused(415, "unsupported_media_type", f"one of {wanted} is wanted", "Content-Type")


def _instances() -> list[Any]:
    try:
        return _decode(request.get_data(cache=False)).instances
    except msgspec.ValidationError as problem:
        reason, _, path = str(problem).partition(" - at `")
        field = path.rstrip("`").removeprefix("$").removeprefix(".") or "body"
        raise Refused(422, "bad_input", reason, field) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refused(400, "bad_json", f"not strict JSON: {problem}", "body") from None
    except RecursionError:
        raise Refused(422, "too_deep", "the JSON is nested too deeply", "body") from None
