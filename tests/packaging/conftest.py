"""What the packaging tests share: the repository as it stands, and one build of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
JUNK = shutil.ignore_patterns("__pycache__", "*.py[cod]", "*.egg-info")


class Built(NamedTuple):
    """One build: the wheel, made from the sdist, and what each of the two contains."""

    wheel: Path
    in_wheel: frozenset[str]
    in_sdist: frozenset[str]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def pyproject() -> dict[str, Any]:
    """The parsed pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def rooms(pyproject: dict[str, Any]) -> dict[str, str]:
    """Installed package name → folder at the repository's top, one entry a room."""
    return dict(pyproject["tool"]["setuptools"]["package-dir"])


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, rooms: dict[str, str]) -> Built:
    """An sdist, and a wheel from that sdist, built in a copy so that no old `build/` leaks in."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "constraints.txt"):
        shutil.copy(ROOT / name, source)
    for folder in (*rooms.values(), "tests"):
        shutil.copytree(ROOT / folder, source / folder, ignore=JUNK)
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = frozenset(archive.namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = frozenset(name.partition("/")[2] for name in archive.getnames())
    return Built(wheel, in_wheel, in_sdist)
