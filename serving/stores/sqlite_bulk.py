"""Many rows in few statements.

Each step of a statement lets go of the interpreter and has to get it back from the threads that
answer requests: row by row, a busy service would hand it over hundreds of times a second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain

# Few sizes, so that the connection's cache holds the statements of them all; times three columns
# well under the 999 values that any SQLite takes.
_SIZES = (256, 64, 16, 4, 1)


def insert_all(
    db: sqlite3.Connection, head: str, rows: Sequence[tuple[object, ...]], tail: str = ""
) -> None:
    """Executes ``head (?, …), (?, …), … tail`` for all rows, in their order."""
    at = 0
    for size in _SIZES:
        while len(rows) - at >= size:
            part = rows[at : at + size]
            places = ", ".join([f"({', '.join('?' * len(part[0]))})"] * size)
            db.execute(f"{head} {places}{tail}", list(chain.from_iterable(part)))
            at += size
