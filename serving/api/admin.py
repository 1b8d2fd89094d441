"""``POST /admin/reload``: takes in the package that lies at the served path now."""

from __future__ import annotations

from flask import Blueprint, Response, current_app

from .context import engine, reply
from .errors import Refused

blueprint = Blueprint("admin", __name__)

# Under which the application's configuration holds what asks the server to reload.
RELOAD = "DRIFTLINE_RELOAD"


@blueprint.post("/admin/reload")
def reload() -> Response:
    """202: new workers are started with it, and the old ones finish what they have.

    A package that cannot be served is refused by the server, which says why in its log; then all
    stays as it was. Which version answers is told by ``/readyz`` and by each prediction.
    """
    ask = current_app.config.get(RELOAD)
    if ask is None:
        raise Refused(409, "no_server", "this application does not run under `driftline serve`")
    model = engine().metadata.model
    ask()
    return reply({"reloading": True, "from": {"name": model.name, "version": model.version}}, 202)
