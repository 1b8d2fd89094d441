"""What ran: versions for the page's head."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

PACKAGES = ("driftline", "river", "scipy", "numpy", "mindspore")


def versions() -> str:
    """Names and versions in one line."""
    found = [f"Python {python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def code_digest(root: Path) -> str:
    """Eight digits that change with any line of the code that judges."""
    found = hashlib.sha256()
    for room in ("drift", "metadata"):
        for path in sorted((root / room).rglob("*.py")):
            found.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:8]
