"""What ran: versions for the page's head."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
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
