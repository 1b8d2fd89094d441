"""driftline in a Flask application of one's own.

::

    app = Flask(__name__)
    driftline = Driftline(app, package="packages/iris", store="state.db")

    @app.post("/predict")
    def predict():
        rows = np.array(request.get_json()["rows"])
        with driftline.observe(rows) as seen:
            seen.outputs = model.predict_proba(rows)
        return {"request_id": seen.request_id, "probabilities": seen.outputs.tolist()}

adds ``/driftline/drift``, ``…/drift/signals/<name>``, ``…/drift/timeline``, ``…/feedback``,
``…/alerts``, ``…/metadata`` and ``…/metrics``. Neither MindSpore nor gunicorn is needed.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from flask import Flask, request

from driftline.metadata.errors import SettingError
from driftline.metadata.package import ModelPackage

from .alerting import Told
from .api import alerts as alert_routes
from .api import context, drift, errors, feedback, metadata, metrics, security
from .hooks.monitor import InferenceMonitor
from .hooks.seen import Seen
from .limits import Limits
from .model.watched import Watched
from .secret import Secret

F = TypeVar("F", bound=Callable[..., Any])
PLAIN = (drift, feedback, metadata)
# Before the names of our blueprints: the application may well have some of those names itself.
OWN = "driftline_"


class Driftline:
    """Watches one model inside a Flask application.

    Args:
        app: or none yet, and `init_app` later.
        package: a folder, a .zip, an opened one; or an `InferenceMonitor`, which has its store,
            thresholds and alerts already, and whatever else can be set.
        store: a file or URL that all processes of the application share.
        thresholds: a file (TOML or JSON) or a mapping that goes over the package's.
        alerts: whom to tell, as a file or `AlertSettings`; the log is told in any case.
        token: what its routes ask for as ``Authorization: Bearer …``; None leaves them open.
        prefix: under which its routes stand.

    Raises:
        PackageError, MetadataError: it is no whole package.
        SettingError: a setting is impossible.
    """

    def __init__(
        self,
        app: Flask | None = None,
        *,
        package: Path | str | ModelPackage | InferenceMonitor,
        store: str = "memory:",
        thresholds: Limits | None = None,
        alerts: Told | None = None,
        token: str | None = None,
        prefix: str = "/driftline",
    ) -> None:
        if not isinstance(package, InferenceMonitor):
            package = InferenceMonitor.open(
                package, store=store, thresholds=thresholds, alerts=alerts
            )
        elif (store, thresholds, alerts) != ("memory:", None, None):
            raise SettingError("package", "a monitor has its store, thresholds and alerts already")
        self.monitor = package
        self._watched = Watched(self.monitor.plan.package, self.monitor)
        if token == "":
            raise SettingError("token", "is empty; None leaves the routes open")
        self._token = None if token is None else Secret(token)
        self._prefix = prefix.rstrip("/")
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Adds the routes; all else of the application stays as it is.

        Raises:
            SettingError: another one is there already.
        """
        if "driftline" in app.extensions:
            raise SettingError("app", "is watched by another Driftline already")
        app.extensions["driftline"] = self._watched
        routes = [each.blueprint for each in PLAIN]
        routes.append(alert_routes.blueprint(lambda: self.monitor.session.desks))
        routes.append(metrics.blueprint(lambda: self.monitor.session.store, self._watched))
        own = {OWN + each.name for each in routes}

        @app.before_request
        def ask() -> None:
            context.begin_request()
            if self._token is not None and request.blueprint in own:
                security.ask(self._token)

        errors.register_own(app)
        for each in routes:
            app.register_blueprint(each, name=OWN + each.name, url_prefix=self._prefix)
        atexit.register(self.monitor.close)

    @contextmanager
    def observe(self, inputs: Any) -> Iterator[Seen]:
        """Both hooks around a block that sets ``seen.outputs``; labels may come for it later,
        under ``seen.request_id``."""
        with self.monitor.observe(inputs) as seen:
            seen.request_id = context.request_id()
            yield seen

    def watch(self, function: F) -> F:
        """The function, watched: its first argument goes into the model, its result comes out."""
        return self.monitor.watch(function)
