"""The small pieces that a description of a route is made of."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Operation = Json

JSON = "application/json"
TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": ["number", "null"]}
WHOLE: Json = {"type": "integer", "minimum": 0}
TIME: Json = {"type": ["string", "null"], "format": "date-time"}
FLAG: Json = {"type": "boolean"}
ANYTHING: Json = {}

_MEANINGS = {
    304: "The client has it already.",
    400: "No strict JSON, or nothing that can be read.",
    401: "A token is wanted.",
    404: "There is none of that name.",
    413: "The body is too large.",
    415: "The content type is none of those above.",
    422: "It can be read, but does not fit; `field` says where.",
    503: "Not available just now.",
}


def ref(name: str) -> Json:
    """A schema of the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def thing(optional: tuple[str, ...] = (), /, **properties: Json) -> Json:
    """An object that has these properties, and may have more."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def many(items: Json) -> Json:
    """A list."""
    return {"type": "array", "items": items}


def query(name: str, schema: Json, says: str) -> Json:
    """A parameter of the query."""
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": says}


def upto(most: int) -> Json:
    """A whole number from 0 on."""
    return {"type": "integer", "minimum": 0, "maximum": most}


def path(name: str, schema: Json) -> Json:
    """A parameter in the path."""
    return {"name": name, "in": "path", "required": True, "schema": schema}


def body(schema: Json, media: str = JSON, **more: Json) -> Json:
    """A body that must be there; `more` are further media types, with ``_`` for ``/``."""
    content = {media: {"schema": schema}}
    return {"required": True, "content": content | {k: {"schema": v} for k, v in more.items()}}


def answers(
    schema: Json, *errors: int, media: str = JSON, says: str = "As asked.", error: str = "Error"
) -> Json:
    """A 200 with this schema, and these errors."""
    found: Json = {"200": {"description": says, "content": {media: {"schema": schema}}}}
    for status in errors:
        found[str(status)] = {"description": _MEANINGS[status]}
        if status >= 400:
            found[str(status)]["content"] = {JSON: {"schema": ref(error)}}
    return found


def operation(responses: Json, *parameters: Json, takes: Json | None = None) -> Operation:
    """One method of a route; its summary is the first line of what the code says of it."""
    found: Operation = {"responses": responses}
    if parameters:
        found["parameters"] = list(parameters)
    if takes is not None:
        found["requestBody"] = takes
    return found
