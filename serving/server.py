"""The server: gunicorn, embedded; every worker loads its model after the fork."""

from __future__ import annotations

import gc
import logging
import mmap
import os
import signal
import socket
import sys
import time
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from msgspec.structs import replace

from driftline.metadata.errors import DriftlineError, SettingError
from driftline.metadata.package import ModelPackage

from . import app, handover, logs
from .api import live
from .api.admin import RELOAD
from .api.refresh import BESIDE
from .hooks.monitor import InferenceMonitor
from .model.engine import Engine
from .settings import Settings

log = logging.getLogger(__name__)

# Loading and warming a model may take long, and only then a worker says that it lives.
TIMEOUT = 180
GRACEFUL = 30
KEEP_ALIVE = 75
CANNOT_START = 4


def serve(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT; ends the process.

    Raises:
        PackageError, MetadataError: the package is not one to be served.
        SettingError: a setting cannot be, such as a port that is taken.
    """
    # Whatever can be found wrong is found here, before anything is forked.
    package = _fit(settings)
    _Server(settings, package, listener(settings.host, settings.port)).run()


def _fit(settings: Settings) -> ModelPackage:
    """The package, if it can be served; a .zip is unpacked once, and not by each worker.

    Raises:
        PackageError, MetadataError, SettingError: as `serve`.
    """
    package = ModelPackage.open(settings.package)
    app.plan_of(settings, package)
    return package


class _Server(BaseApplication):  # type: ignore[misc]
    """gunicorn's application for these settings, listening on `listener`."""

    def __init__(self, settings: Settings, package: ModelPackage, listener: socket.socket) -> None:
        self._settings = settings
        self._package = package
        self._before: ModelPackage | None = None
        self._arbiter = os.getpid()
        # Asked now: gunicorn makes the descriptor its own, and comes back for its settings later.
        self._address = listener.getsockname()[:2]
        self._descriptor = listener.detach()
        # Shared by all workers: set once one of them has loaded the model.
        self._loaded = mmap.mmap(-1, 1)
        super().__init__()

    def load_config(self) -> None:
        """gunicorn's own settings."""
        settings = self._settings
        host, port = self._address
        chosen: dict[str, Any] = {
            "bind": f"fd://{self._descriptor}",
            "workers": settings.workers,
            "threads": settings.threads,
            "worker_class": "gthread",
            "preload_app": False,
            "timeout": TIMEOUT,
            "graceful_timeout": GRACEFUL,
            "keepalive": KEEP_ALIVE,
            "worker_tmp_dir": "/dev/shm" if os.path.isdir("/dev/shm") else None,
            # A fixed path in the user's home, which two services would fight for.
            "control_socket_disable": True,
            "logconfig_dict": logs.config(settings.log_level),
            "proc_name": f"driftline {host}:{port}",
            "post_worker_init": _worker_began,
            "worker_exit": _worker_exit,
            **handover.HOOKS,
        }
        for name, value in chosen.items():
            self.cfg.set(name, value)

    def run(self) -> None:
        """Serves until it is told to end."""
        try:
            handover.Handover(self).run()
        except RuntimeError as error:
            log.critical("cannot start: %s", error)
            sys.exit(1)

    def renewed(self) -> bool:
        """Whether what lies at the package's path now can be served; workers will load that."""
        try:
            package = _fit(self._settings)
        except (DriftlineError, OSError) as error:
            _not_reloaded(str(error))
            return False
        if self._before is not None:
            self._before.discard()
        # Workers of the package before still finish their requests.
        self._before, self._package = self._package, package
        model = self._package.metadata.model
        log.info("reloading: %s %s, %s", model.name, model.version, self._package.digest[:12])
        return True

    def kept(self, reason: str) -> None:
        """New workers could not take over what `renewed` found: the package before stays."""
        _not_reloaded(reason)
        if self._before is not None:
            self._package.discard()
            self._package, self._before = self._before, None

    def load(self) -> Flask:
        """The worker's application. Called after the fork."""
        began = time.monotonic()
        try:
            loaded = app.create_app(replace(self._settings, package=str(self._package.path)))
        except Exception as error:
            told = None if isinstance(error, DriftlineError) else error
            log.critical("cannot start: %s", error, exc_info=told)
            # Where the service ran before, other workers go on, and this one is tried again.
            ran = self._loaded[0] or self._before is not None
            sys.exit(1 if ran else CANNOT_START)
        self._loaded[0] = 1
        engine: Engine = loaded.extensions["driftline"]
        _watching(engine.monitor)
        settle()
        loaded.config[RELOAD] = self._reload
        loaded.config[BESIDE] = self._settings.package
        model, took = engine.metadata.model, time.monotonic() - began
        digest = engine.package.digest[:12]
        log.info("ready: %s %s, %s, loaded in %.1f s", model.name, model.version, digest, took)
        return loaded

    def _reload(self) -> None:
        os.kill(self._arbiter, signal.SIGHUP)


def _not_reloaded(reason: str) -> None:
    log.error("not reloaded, the package before is served on: %s", reason)


def _watching(monitor: InferenceMonitor) -> None:
    """Verdicts and alerts that wait go on from now on, whether or not a request comes."""
    try:
        _ = monitor.session
    except Exception as error:
        monitor.fence.caught("start", error)


def settle() -> None:
    """Lets the garbage collector pass over all that a worker has loaded, from now on.

    A full round through MindSpore's objects takes a tenth of a second, in which nothing is
    answered; under load it came every ten seconds.
    """
    gc.collect()
    gc.freeze()


def _worker_began(worker: Any) -> None:
    live.worker_began(worker)
    handover.began(worker)


def _worker_exit(server: Any, worker: Any) -> None:
    """Requests are over: the last counts are handed over."""
    application = getattr(worker, "wsgi", None)
    if isinstance(application, Flask):
        application.extensions["driftline"].monitor.close()


def listener(host: str, port: int) -> socket.socket:
    """A bound socket; gunicorn would try a taken port again and again."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        # Only listening shows that another process listens on the same address.
        found.listen(2048)
    except socket.gaierror as error:
        raise SettingError("host", f"{host!r} is no address: {error}") from None
    except OSError as error:
        found.close()
        where = f"{host}:{port}"
        raise SettingError("port", f"cannot listen on {where}: {error.strerror}") from None
    return found
