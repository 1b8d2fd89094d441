"""``/livez`` and ``/readyz``: whether the process runs, and whether it answers predictions."""

from __future__ import annotations

from flask import Blueprint, Response

from .context import reply, watched

blueprint = Blueprint("health", __name__)


@blueprint.get("/livez")
def livez() -> Response:
    """The process runs."""
    return reply({"live": True})


@blueprint.get("/readyz")
def readyz() -> Response:
    """Predictions are answered; ``degraded`` names what else does not work.

    A store that is away does not make a worker unready: it predicts, and its counts wait.
    """
    served = watched()
    problem = served.monitor.session.problem
    model = served.metadata.model
    return reply(
        {
            "ready": True,
            "model": {"name": model.name, "version": model.version},
            "degraded": [f"store: {problem}"] if problem else [],
        }
    )
