"""What importing driftline brings in, in a fresh interpreter that stands elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(code: str, cwd: Path) -> str:
    """Run code in a new interpreter, without the test run's own import paths."""
    clean = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONSAFEPATH"}}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_rooms_are_found_under_their_namespace(tmp_path: Path, rooms: dict[str, str]) -> None:
    """The install works from any folder, not only from the repository."""
    code = "".join(f"import {room}\n" for room in rooms if room != "driftline.train_side")
    assert run(code + "print('found')", tmp_path) == "found"


def test_no_bare_room_is_importable(tmp_path: Path, rooms: dict[str, str]) -> None:
    """`import metadata` finds nothing of ours, so a user's own module of that name is safe."""
    names = sorted(rooms.values())
    code = (
        "from importlib.util import find_spec\n"
        f"print([name for name in {names} if find_spec(name) is not None])"
    )
    assert run(code, tmp_path) == "[]"


@pytest.mark.parametrize(
    ("room", "strangers"),
    [
        ("driftline.metadata", {"mindspore", "flask", "requests", "driftline.drift"}),
        ("driftline.drift", {"mindspore", "flask", "requests", "driftline.serving"}),
        ("driftline.serving", {"mindspore", "driftline.train_side"}),
        ("driftline.train_side", {"flask", "driftline.serving"}),
    ],
)
def test_importing_a_room_does_not_load_what_it_must_not_know(
    tmp_path: Path, room: str, strangers: set[str]
) -> None:
    """Beyond import-linter: nothing on the way loads a framework the room is free of."""
    code = f"import sys, {room}\nprint(sorted({strangers} & set(sys.modules)))"
    assert run(code, tmp_path) == "[]"
