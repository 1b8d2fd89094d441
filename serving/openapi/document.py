"""The whole document: every route of the application, described or at least named."""

from __future__ import annotations

import inspect
import re
from importlib import metadata as distributions
from typing import Any

import msgspec
from flask import Flask

from driftline.metadata.schema import ModelMetadata

from ..alerts.alert import Alert
from ..api.alerts import Word
from ..api.refresh import Refresh
from ..api.security import OPEN
from ..inference.wire import InferRequest
from ..model.engine import Engine
from ..runs.push import Push
from . import serving, trainings, watching
from .parts import Json, Operation, path

TYPES = (ModelMetadata, InferRequest, Push, Word, Alert, Refresh)
UNTOLD = {"default": {"description": "As the code says."}}
_PARAMETER = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")


def document(app: Flask, engine: Engine, *, token: bool) -> Json:
    """OpenAPI 3.1 of the application; with `token`, of one that asks for it."""
    known = serving.operations(engine) | watching.operations(engine) | trainings.operations()
    paths: dict[str, Json] = {}
    for rule in sorted(app.url_map.iter_rules(), key=lambda each: each.rule):
        told = paths.setdefault(_PARAMETER.sub(r"{\1}", rule.rule), {})
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            view = app.view_functions[rule.endpoint]
            names = [str(name) for name in _PARAMETER.findall(rule.rule)]
            told[method.lower()] = _told(
                rule.endpoint, known.get(rule.endpoint), view, names, token=token
            )
    _, types = msgspec.json.schema_components(
        TYPES, ref_template="#/components/schemas/{name}", schema_hook=_hook
    )
    model = engine.metadata.model
    found: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": f"driftline: {model.name} {model.version}",
            "version": distributions.version("driftline"),
        },
        "paths": paths,
        "components": {"schemas": {**trainings.narrowed(types), **serving.components()}},
    }
    if token:
        scheme = {"type": "http", "scheme": "bearer"}
        found["components"]["securitySchemes"] = {"token": scheme}
    return found


def _told(
    endpoint: str, known: Operation | None, view: Any, names: list[str], *, token: bool
) -> Operation:
    """The operation, with what is true of every route of the kind."""
    found = dict(known or {"responses": UNTOLD})
    words = inspect.getdoc(view)
    if words:
        found["summary"] = words.partition("\n")[0]
    found["tags"] = [endpoint.partition(".")[0]]
    # An operation of several rules names the parameters of all of them.
    given = {each["name"]: each for each in found.get("parameters", ()) if each["in"] == "path"}
    others = [each for each in found.get("parameters", ()) if each["in"] != "path"]
    in_path = [given.get(name) or path(name, {"type": "string", "minLength": 1}) for name in names]
    if in_path or others:
        found["parameters"] = [*in_path, *others]
    if token and endpoint not in OPEN and not endpoint.startswith("pages."):
        error = "ProtocolError" if endpoint.startswith("v2.") else "Error"
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{error}"}}}
        refusal = {"401": {"description": "A token is wanted.", "content": content}}
        found["responses"] = {**found["responses"], **refusal}
        found["security"] = [{"token": []}]
    return found


def _hook(kind: type) -> Json:
    raise NotImplementedError(kind)
