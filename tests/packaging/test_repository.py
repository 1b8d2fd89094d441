"""House rules that a reader should be able to rely on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

LONGEST = 300
OWN = ("metadata", "drift", "train_side", "serving", "tests", "examples", "benchmarks", "docs")
LOOSE = ("pyproject.toml", "constraints.txt", "Makefile", "Dockerfile", ".ci/run", "README.md")
TEXT = {".py", ".md", ".toml", ".txt", ".json", ".yml", ".yaml", ".html", ".js", ".css", ".sh"}

# Someone's home or work folder, or where a package index was reached from one machine.
PRIVATE = re.compile(
    r"(?<![\w.$}])/(?:home|root|Users|work)/\w"
    r"|file:///"
    r"|--(?:extra-)?index-url|--find-links|--trusted-host"
)


def own_files(root: Path) -> list[Path]:
    """Every file of the project that is text, wherever it stands."""
    inside = [p for top in (*OWN, "deploy") for p in (root / top).rglob("*")]
    loose = [root / name for name in LOOSE if (root / name).is_file()]
    return loose + [
        p for p in inside if p.is_file() and p.suffix in TEXT and "__pycache__" not in p.parts
    ]


def test_no_python_file_is_longer_than_300_lines(root: Path) -> None:
    """A file is one idea; beyond 300 lines it holds two."""
    long = {
        str(path.relative_to(root)): lines
        for path in own_files(root)
        if path.suffix == ".py"
        and (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert long == {}


def test_no_file_speaks_of_one_machine(root: Path) -> None:
    """What is committed names no private folder and no way to a package index."""
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in own_files(root)
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("line", ["cd /home/ann/x", "see file:///x", "pip --find-links y"])
def test_the_search_for_machine_paths_finds_them(line: str) -> None:
    """The test above is not silent because its pattern is."""
    assert PRIVATE.search(line)


def test_constraints_are_exact_versions_only(root: Path) -> None:
    """`name==version` on every line: no address, no folder, no range."""
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert pinned
    assert [x for x in pinned if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", x)] == []


def test_every_dependency_is_pinned(root: Path, pyproject: dict[str, Any]) -> None:
    """What any extra asks for has its exact version in constraints.txt."""
    project = pyproject["project"]
    asked = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        asked += [one for one in extra if not one.startswith("driftline")]
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonical(line.partition("==")[0]) for line in lines if "==" in line}
    names = {canonical(re.split(r"[\[<>=!~;\s]", one)[0]) for one in asked}
    assert names - pinned == set()


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
