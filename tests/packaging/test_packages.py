"""The list of packages is kept by hand; these tests keep it true."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def folders_with_code(root: Path, rooms: dict[str, str]) -> dict[Path, str]:
    """Each folder of a room that holds Python files → the package name it has when installed."""
    found = {}
    for package, folder in rooms.items():
        for path in {file.parent for file in (root / folder).rglob("*.py")}:
            tail = path.relative_to(root / folder).parts
            found[path] = ".".join((package, *tail))
    return found


def test_every_folder_with_code_is_a_listed_package(
    root: Path, rooms: dict[str, str], pyproject: dict[str, Any]
) -> None:
    """A package missing from the list would be missing from the wheel without a warning."""
    listed = pyproject["tool"]["setuptools"]["packages"]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(folders_with_code(root, rooms).values())


def test_every_package_has_an_init_file(root: Path, rooms: dict[str, str]) -> None:
    """Without one a folder becomes a namespace that type checkers and linters pass over."""
    bare = [p for p in folders_with_code(root, rooms) if not (p / "__init__.py").is_file()]
    assert bare == []


def test_every_room_says_that_it_is_typed(root: Path, rooms: dict[str, str]) -> None:
    """`py.typed` has to stand in each room, for `driftline` itself is only a namespace."""
    assert [folder for folder in rooms.values() if not (root / folder / "py.typed").is_file()] == []


def test_no_room_is_named_twice_or_left_out(rooms: dict[str, str]) -> None:
    """Four rooms, each installed under the one namespace by the name of its folder."""
    assert rooms == {f"driftline.{folder}": folder for folder in rooms.values()}
    assert set(rooms.values()) == {"metadata", "drift", "train_side", "serving"}
