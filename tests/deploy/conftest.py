"""The folder `deploy/`, and the programs that read it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "serving" / "support"))


@pytest.fixture(scope="session")
def deploy() -> Path:
    return ROOT / "deploy"


@pytest.fixture(scope="session")
def needed() -> Callable[..., str]:
    """The path of a program; the test fails where it is not installed."""

    def find(*names: str) -> str:
        beside = Path(sys.executable).parent
        for name in names:
            found = shutil.which(name) or shutil.which(name, path=str(beside))
            if found:
                return found
        return pytest.fail(f"{names[0]} is not installed; .ci/run and `make .venv` install it")

    return find


@pytest.fixture(scope="session")
def ran(needed: Callable[..., str]) -> Callable[..., str]:
    """What a program says; the test fails where it is not content."""

    def run(program: str, *words: object, **more: object) -> str:
        command = [needed(program), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        return said

    return run


@pytest.fixture(scope="session")
def exposed_names(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """Every name under which a service with traffic and a training has samples or help."""
    import served
    from prometheus_client.parser import text_string_to_metric_families

    from driftline.serving.app import plan_of, wired
    from driftline.serving.hooks import InferenceMonitor
    from driftline.serving.model.engine import Engine
    from driftline.serving.settings import load

    package = served.package(tmp_path_factory.mktemp("names") / "package")
    settings = load({"package": str(package.path), "state": "memory:", "workers": 1}, {})
    monitor = InferenceMonitor(plan_of(settings, package), copy=False)
    try:
        engine = Engine(package, served.load(package), monitor, most=10)
        client = wired(engine, settings).test_client()
        client.post("/predict", json={"instances": served.rows(3, 1).tolist()})
        monitor.flush()
        text = client.get("/metrics").get_data(as_text=True)
    finally:
        monitor.close()
    names: set[str] = set()
    for family in text_string_to_metric_families(text):
        names.add(family.name)
        if family.type == "counter":
            names.add(f"{family.name}_total")
        if family.type in ("histogram", "summary"):
            names |= {f"{family.name}_{end}" for end in ("bucket", "count", "sum")}
    return frozenset(names)
