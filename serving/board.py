"""The board: the training page and its routes alone, without a model."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import Any
from uuid import uuid4

from flask import Flask, Response
from gunicorn.app.base import BaseApplication
from msgspec import Struct

from driftline.metadata.errors import SettingError, StoreError

from . import logs
from .alerts.alerts import AlertSettings
from .alerts.sink import SinkSettings
from .api import alerts, context, errors, live, metrics, security
from .evaluation.desk import Desk, resigned
from .hooks.background import Background
from .hooks.desks import trainings
from .hooks.fence import Fence
from .secret import Secret
from .server import listener
from .settings import is_loopback
from .stores.opening import check_place, open_store

CLOSING = "driftline.closing"
TURN_SECONDS = 1.0
MOST_BODY = 16 * 2**20
GRACEFUL = 10
WORKERS = 2
# Most of them hold a stream each, and do nothing most of the time.
THREADS = 32


class BoardSettings(Struct, frozen=True, kw_only=True):
    """Everything that can be chosen about a board; each as in `Settings`."""

    host: str = "127.0.0.1"
    port: int = 8000
    state: str = "driftline-board.db"
    token: Secret | None = None
    allow_anonymous: bool = False
    log_level: str = "info"
    alerts: AlertSettings = AlertSettings(sinks=(SinkSettings(name="log", kind="log"),))


def create_board(settings: BoardSettings) -> Flask:
    """The application of one worker. To be called after the fork."""
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY
    app.before_request(context.begin_request)
    security.register(app, settings.token)
    errors.register(app)
    store = open_store(settings.state)
    desk = trainings(settings.alerts, store, f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex}")
    turns = Background("alerts", lambda: _turn(desk), seconds=TURN_SECONDS, fence=Fence())
    turns.start()
    app.extensions[CLOSING] = lambda: _close(turns, desk)
    app.register_blueprint(alerts.blueprint(lambda: (desk,)))
    app.register_blueprint(metrics.blueprint(lambda: store, None, (desk,)))
    live.register(app, lambda: store, token=settings.token, threads=THREADS)

    @app.get("/livez", endpoint="health.livez")
    def livez() -> Response:
        return context.reply({"live": True})

    @app.after_request
    def finish(response: Response) -> Response:
        response.headers["X-Request-Id"] = context.request_id()
        return response

    return app


def _turn(desk: Desk) -> None:
    with suppress(StoreError):  # the next turn comes
        desk.turn(time.time())


def _close(turns: Background, desk: Desk) -> None:
    turns.stop()
    resigned(desk)


def serve_board(settings: BoardSettings) -> None:
    """Serves until SIGTERM or SIGINT; ends the process.

    Raises:
        SettingError: a setting cannot be, such as a port that is taken.
    """
    if not settings.token and not settings.allow_anonymous and not is_loopback(settings.host):
        reason = f"{settings.host} is reached by others; set a token, or --allow-anonymous"
        raise SettingError("host", reason)
    store = open_store(settings.state)
    check_place(settings.state)
    trainings(settings.alerts, store, "check")
    store.close()
    # State in memory is one process's own.
    workers = 1 if settings.state.startswith("memory:") else WORKERS
    _Board(settings, listener(settings.host, settings.port), workers).run()


class _Board(BaseApplication):  # type: ignore[misc]
    """gunicorn's application for these settings."""

    def __init__(self, settings: BoardSettings, listening: socket.socket, workers: int) -> None:
        self._settings = settings
        self._listening = listening
        self._workers = workers
        super().__init__()

    def load_config(self) -> None:
        """gunicorn's own settings."""
        host, port = self._listening.getsockname()[:2]
        chosen: dict[str, Any] = {
            "bind": f"fd://{self._listening.fileno()}",
            "workers": self._workers,
            "threads": THREADS,
            "worker_class": "gthread",
            "graceful_timeout": GRACEFUL,
            "worker_tmp_dir": "/dev/shm" if os.path.isdir("/dev/shm") else None,
            "control_socket_disable": True,
            "logconfig_dict": logs.config(self._settings.log_level),
            "proc_name": f"driftline board {host}:{port}",
            "post_worker_init": live.worker_began,
            "worker_exit": _worker_exit,
        }
        for name, value in chosen.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """The worker's application. Called after the fork."""
        return create_board(self._settings)


def _worker_exit(server: Any, worker: Any) -> None:
    application = getattr(worker, "wsgi", None)
    if isinstance(application, Flask):
        application.extensions[CLOSING]()
