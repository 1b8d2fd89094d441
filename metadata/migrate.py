"""Older versions of the format, brought up to today's one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import VersionError

MAJOR = 1
VERSION = "1.0"

Raw = dict[str, Any]


# The step that starts from each older major version; 1 is the first that was ever published.
STEPS: dict[int, Callable[[Raw], Raw]] = {}


def migrate(raw: Raw) -> Raw:
    """`raw` in the form of `VERSION`; a minor version of today's major is taken as it is.

    Raises:
        VersionError: no step starts from that version.
    """
    for major in range(int(str(raw["schema_version"]).split(".")[0]), MAJOR):
        if major not in STEPS:
            raise VersionError("schema_version", f"{major}.x was never published")
        raw = STEPS[major](raw)
    return raw
