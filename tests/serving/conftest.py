"""A package, an application in this process, and real servers; all without MindSpore."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

import served

from driftline.metadata.package import ModelPackage
from driftline.serving.app import plan_of, wired
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.model.engine import Engine
from driftline.serving.settings import load


@pytest.fixture(scope="session")
def package(tmp_path_factory) -> ModelPackage:
    return served.package(tmp_path_factory.mktemp("served") / "package")


@pytest.fixture
def engine_of(package):
    """Makes engines in this process; their threads end with the test."""
    made: list[Engine] = []

    def make(**changes) -> Engine:
        used = changes.pop("package", package)
        settings = load({"package": str(used.path), "state": "memory:", "workers": 1} | changes, {})
        monitor = InferenceMonitor(plan_of(settings, used), copy=False)
        model = served.load(used)
        made.append(Engine(used, model, monitor, most=settings.max_instances))
        made[-1].settings = settings  # type: ignore[attr-defined]
        return made[-1]

    yield make
    for engine in made:
        engine.monitor.close()


@pytest.fixture
def client_of(engine_of):
    """Makes Flask test clients."""

    def make(**changes):
        engine = engine_of(**changes)
        client = wired(engine, engine.settings).test_client()
        client.engine = engine
        return client

    return make


@pytest.fixture
def client(client_of):
    return client_of()


@pytest.fixture
def serve(package, tmp_path):
    """Starts real servers; they end with the test."""
    started: list[served.Server] = []

    def start(*words: str, ready: bool = True, where: Path | None = None, **more):
        log = tmp_path / f"server-{len(started)}.log"
        if "--state" not in words:
            words = (*words, "--state", str(tmp_path / "state.db"))
        server = served.Server(where or package.path, log, *words, **more)
        started.append(server)
        return server.ready() if ready else server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def needed():
    """The path of a program that the tests need; fails where it is not installed."""

    def find(*names: str) -> str:
        found = next(filter(None, map(shutil.which, names)), None)
        if found is None:
            pytest.fail(f"{names[0]} is not installed; .ci/run installs it")
        return found

    return find
