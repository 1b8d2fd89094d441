"""What a user gets from the wheel and from the sdist."""

from __future__ import annotations

import zipfile
from configparser import ConfigParser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Built


def files_of(root: Path, folder: str) -> list[Path]:
    """Every file of a room, relative to the repository, without what Python leaves behind."""
    return [
        path.relative_to(root)
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]


def test_the_wheel_holds_every_file_of_every_room(
    built: Built, root: Path, rooms: dict[str, str]
) -> None:
    """Code, `py.typed`, the schema, templates and static files: none is left behind."""
    expected = {
        f"driftline/{path.as_posix()}" for room in rooms.values() for path in files_of(root, room)
    }
    assert expected - built.in_wheel == set()


def test_the_wheel_installs_nothing_but_driftline(built: Built) -> None:
    """A top-level `metadata` or `serving` would shadow folders of the user's own."""
    tops = {name.partition("/")[0] for name in built.in_wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"driftline"}


def test_the_wheel_carries_the_licence(built: Built) -> None:
    """Apache-2.0 asks that its text travels with the work."""
    assert any(name.endswith("licenses/LICENSE") for name in built.in_wheel)


def test_the_command_points_at_a_module_in_the_wheel(built: Built) -> None:
    """`driftline` on the command line is a function that is really packed."""
    with zipfile.ZipFile(built.wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        entries = ConfigParser()
        entries.read_string(archive.read(name).decode())
    module, _, function = entries["console_scripts"]["driftline"].partition(":")
    assert function == "main"
    assert module.replace(".", "/") + ".py" in built.in_wheel


def test_the_sdist_carries_the_tests(built: Built) -> None:
    """Whoever repackages driftline can run its tests from the sdist."""
    assert "tests/packaging/test_wheel.py" in built.in_sdist
