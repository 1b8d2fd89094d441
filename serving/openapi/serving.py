"""Predictions, the protocol's routes, the model's metadata and health."""

from __future__ import annotations

from driftline.metadata.extract import Classification

from ..api.feedback import MOST_ITEMS
from ..feedback.joining import MOST_ID
from ..model.engine import Engine
from .instances import instances, prediction
from .parts import (
    FLAG,
    JSON,
    TEXT,
    Json,
    Operation,
    answers,
    body,
    many,
    operation,
    path,
    ref,
    thing,
)

BINARY: Json = {"type": "string", "format": "binary"}
TEXTS = many(TEXT)
MODEL = thing(name=TEXT, version=TEXT)
TENSOR = thing(name=TEXT, datatype=TEXT, shape=many({"type": "integer", "minimum": -1}))


def operations(engine: Engine) -> dict[str, Operation]:
    """By endpoint."""
    metadata, model = engine.metadata, engine.metadata.model
    warning = thing(code=TEXT, instance={"type": ["integer", "null"]}, message=TEXT)
    told = thing(
        request_id=TEXT,
        model=MODEL,
        predictions=many(prediction(metadata, engine.columns)),
        warnings=many(warning),
    )
    asked: Json = {
        "type": "object",
        "properties": {"instances": instances(metadata, engine.intake)},
        "required": ["instances"],
        "additionalProperties": False,
    }
    media: dict[str, Json] = {}
    if len(metadata.inputs) == 1:
        media["application/x-npy"] = BINARY
        preprocessing = engine.intake.preprocessings.get(metadata.inputs[0].name)
        if preprocessing is not None and preprocessing.form == "image":
            media |= {"image/png": BINARY, "image/jpeg": BINARY}
    ready = thing(ready=FLAG)
    return {
        "predict.predict": operation(
            answers(told, 400, 413, 415, 422), takes=body(asked, JSON, **media)
        ),
        "feedback.feedback": _feedback(engine),
        "admin.reload": operation(_reloading()),
        "metadata.metadata": operation(answers(ref("ModelMetadata"), 304)),
        "health.livez": operation(answers(thing(live=FLAG))),
        "health.readyz": operation(answers(thing(ready=FLAG, model=MODEL, degraded=TEXTS), 503)),
        "openapi.openapi": operation(answers({"type": "object"}, 304)),
        "v2.server": operation(answers(thing(name=TEXT, version=TEXT, extensions=TEXTS))),
        "v2.live": operation(answers(thing(live=FLAG))),
        "v2.ready": operation(answers(ready, 503, error="ProtocolError")),
        "v2.repository": operation(
            answers(many(thing(name=TEXT, version=TEXT, state=TEXT)), 503, error="ProtocolError")
        ),
        "v2.model": _of_model(_described(), model.name, model.version),
        "v2.model_ready": _of_model(ready, model.name, model.version),
        "v2.infer": _infer(model.name, model.version),
    }


def components() -> dict[str, Json]:
    """Schemas that several routes share."""
    field = {"type": ["string", "null"]}
    inner = thing(code=TEXT, message=TEXT, field=field)
    return {"Error": thing(error=inner), "ProtocolError": thing(error=TEXT)}


def _named(model: str, version: str) -> tuple[Json, Json]:
    return path("model", {"enum": [model]}), path("version", {"enum": [version]})


def _of_model(schema: Json, model: str, version: str) -> Operation:
    told = answers(schema, 404, 503, error="ProtocolError")
    return operation(told, *_named(model, version))


def _described() -> Json:
    several = many(TENSOR)
    return thing(name=TEXT, versions=TEXTS, platform=TEXT, inputs=several, outputs=several)


def _infer(model: str, version: str) -> Operation:
    outputs = many(thing(name=TEXT, datatype=TEXT, shape=many({"type": "integer"})))
    told = thing(("id",), model_name=TEXT, model_version=TEXT, outputs=outputs, id=TEXT)
    found = answers(told, 400, 404, 413, 415, 503, error="ProtocolError")
    found["200"]["content"]["application/octet-stream"] = {"schema": BINARY}
    length: Json = {
        "name": "Inference-Header-Content-Length",
        "in": "header",
        "required": False,
        "schema": {"type": "integer", "minimum": 0},
        "description": "Bytes of the JSON, where binary tensors follow it.",
    }
    takes = body(ref("InferRequest"))
    return operation(found, *_named(model, version), length, takes=takes)


def _feedback(engine: Engine) -> Operation:
    """One label or a list; a request of several instances has a list of labels."""
    label: Json = {"type": "number"}
    for part in dict(engine.columns.part("output")).values():
        if isinstance(part, Classification):
            label = {"enum": list(part.classes)}
            if engine.claims.multiple:
                label = many(label)
            break
    named = {"type": "string", "minLength": 1, "maxLength": MOST_ID}
    item = thing(request_id=named, label={"anyOf": [label, many(label)]})
    item["additionalProperties"] = False
    several = many(item) | {"minItems": 1, "maxItems": MOST_ITEMS}
    says = (
        "What became of each. `unknown` is an id that was never answered, is too old or was joined "
        "before; also one that another worker answered less than half a second ago, whose label "
        "may be sent again."
    )
    told = answers({"type": "object"}, 400, 413, 422, 503, says=says)
    told["409"] = {"description": "No label can be judged.", "content": told["422"]["content"]}
    return operation(told, takes=body({"anyOf": [item, several]}))


def _reloading() -> Json:
    told = answers(thing(reloading=FLAG), 503)
    refused = {"description": "No server is asked.", "content": told["503"]["content"]}
    return {"202": told.pop("200"), "409": refused, **told}
