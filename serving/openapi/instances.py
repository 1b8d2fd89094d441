"""What one instance of a model looks like, in every form, and what is answered to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.metadata.extract import Category, Classification, Number, Regression
from driftline.metadata.preprocess import Preprocessing, TablePreprocessing
from driftline.metadata.schema import ModelMetadata, TensorSpec

from ..hooks.columns import Columns
from ..model.answers import told
from ..model.intake import Intake
from .parts import NUMBER, Json, many, thing

_B64: Json = {
    "type": "object",
    "properties": {"b64": {"type": "string", "contentEncoding": "base64"}},
    "required": ["b64"],
    "additionalProperties": False,
}


def instances(metadata: ModelMetadata, intake: Intake) -> Json:
    """The list of instances: all of one form."""
    forms: list[Json] = []
    if len(metadata.inputs) == 1:
        spec = metadata.inputs[0]
        forms.append(_value(spec, spec.shape[1:]))
        preprocessing = intake.preprocessings.get(spec.name)
        if preprocessing is not None:
            forms.append(_raw(preprocessing, spec))
    forms += [_closed(each) for each in _by_name(intake)]
    bounds = {"minItems": 1, "maxItems": intake.most}
    return {"anyOf": [many(form) | bounds for form in forms]}


def prediction(metadata: ModelMetadata, columns: Columns) -> Json:
    """What is answered to one instance."""
    parts = dict(columns.part("output"))
    found = {name: _output(parts.get(name)) for name in told(metadata, columns)}
    return next(iter(found.values())) if len(found) == 1 else thing(**found)


def _output(part: Any) -> Json:
    if isinstance(part, Classification):
        probabilities = thing(**dict.fromkeys(part.classes, NUMBER))
        if part.head.startswith("multilabel"):
            labels = many({"enum": list(part.classes)})
            return thing(confidence=NUMBER, probabilities=probabilities, labels=labels)
        label = {"enum": [*part.classes, None]}
        return thing(label=label, confidence=NUMBER, probabilities=probabilities)
    if isinstance(part, Regression):
        if len(part.targets) == 1:
            return thing(value=NUMBER)
        return thing(values=thing(**dict.fromkeys(part.targets, NUMBER)))
    return thing(output={})


def _by_name(intake: Intake) -> list[Json]:
    """Objects by input name: all of numbers, or raw where there is a preprocessing."""
    numbers = {spec.name: _value(spec, spec.shape[1:]) for spec in intake.specs}
    known = intake.preprocessings
    raw = {spec.name: _raw(known[spec.name], spec) for spec in intake.specs if spec.name in known}
    return [numbers, numbers | raw] if raw else [numbers]


def _value(spec: TensorSpec, shape: tuple[int | None, ...]) -> Json:
    """Nested lists of a shape, or what stands in them."""
    if not shape:
        return _scalar(spec)
    found = many(_value(spec, shape[1:]))
    if shape[0] is not None:
        found |= {"minItems": shape[0], "maxItems": shape[0]}
    else:
        # Not empty: no model is known to take nothing.
        found |= {"minItems": 1}
    return found


def _scalar(spec: TensorSpec) -> Json:
    if spec.dtype == "string":
        return {"type": "string"}
    if spec.dtype == "bool":
        return {"type": "boolean"}
    if spec.dtype.startswith(("int", "uint")):
        bounds = np.iinfo(spec.dtype)
        return {"type": "integer", "minimum": int(bounds.min), "maximum": int(bounds.max)}
    largest = np.finfo(spec.dtype).max
    # What is rounded to the largest number is taken; what is rounded beyond it is not.
    with np.errstate(over="ignore"):
        bound = float(largest) + float(np.spacing(largest)) / 2
    kind: Any = ["number", "null"] if spec.allow_missing else "number"
    if not np.isfinite(bound):
        return {"type": kind, "minimum": -float(largest), "maximum": float(largest)}
    return {"type": kind, "exclusiveMinimum": -bound, "exclusiveMaximum": bound}


def _raw(preprocessing: Preprocessing, spec: TensorSpec) -> Json:
    if isinstance(preprocessing, TablePreprocessing):
        return _row(preprocessing, spec)
    return _B64 if preprocessing.form == "image" else {"type": "object"}


def _row(table: TablePreprocessing, spec: TensorSpec) -> Json:
    optional = spec.allow_missing or bool(table.fill)
    scalar = _scalar(spec)
    bounds = {name: value for name, value in scalar.items() if name.endswith("imum")}
    found: Json = {}
    for field in table.fields:
        kinds = ["number", "boolean"] if isinstance(field, Number) else ["integer", "boolean"]
        if isinstance(field, Category) and field.vocabulary:
            kinds.append("string")
        found[field.name] = {"type": [*kinds, "null"] if optional else kinds, **bounds}
    return _closed(found, required=not optional)


def _closed(properties: Json, *, required: bool = True) -> Json:
    found: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | ({"required": list(properties)} if required else {})
