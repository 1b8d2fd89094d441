"""A reader of server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class Reader:
    """Reads a stream's events, as (name, data, id)."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = b""
        self.id = ""

    def next(self) -> tuple[str, Any, str]:
        while True:
            while b"\n\n" not in self._buffer:
                self._buffer += next(self._pieces)
            block, _, self._buffer = self._buffer.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in block.decode().splitlines())
            if "event" in fields:
                self.id = fields.get("id", self.id)
                return fields["event"], json.loads(fields["data"]), fields.get("id", "")

    def steps(self, until_step: int) -> list[int]:
        """The steps of a run's events, up to one."""
        found: list[int] = []
        while not found or found[-1] < until_step:
            name, data, _ = self.next()
            if name in ("history", "points"):
                found += data["steps"]
        return found
