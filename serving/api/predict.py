"""``POST /predict``."""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Blueprint, Response, request
from msgspec import Struct

from ..model.instances import FIELD, arrays_of
from .context import engine, reply, request_id
from .errors import Refused

blueprint = Blueprint("predict", __name__)


class PredictRequest(Struct, forbid_unknown_fields=True):
    """The JSON body."""

    instances: list[Any]


_decode = msgspec.json.Decoder(PredictRequest).decode


@blueprint.post("/predict")
def predict() -> Response:
    """One prediction for each instance."""
    served = engine()
    arrays = arrays_of(_instances(), served.metadata.inputs, served.columns)
    outputs, seen = served.infer(arrays, FIELD)
    predictions, warnings = served.explain(outputs, seen)
    model = served.metadata.model
    return reply(
        {
            "request_id": request_id(),
            "model": {"name": model.name, "version": model.version},
            "predictions": predictions,
            "warnings": warnings,
        }
    )


def _instances() -> list[Any]:
    if request.mimetype not in ("application/json", ""):
        raise Refused(415, "unsupported_media_type", "application/json is wanted", "Content-Type")
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
