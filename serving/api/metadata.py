"""``GET /metadata``: what the package says about its model."""

from __future__ import annotations

from flask import Blueprint, Response

from driftline.metadata.schema import encode

from .context import tagged_raw, watched

blueprint = Blueprint("metadata", __name__)


@blueprint.get("/metadata")
def metadata() -> Response:
    """The whole ``model_metadata.json``."""
    return tagged_raw(encode(watched().metadata))
