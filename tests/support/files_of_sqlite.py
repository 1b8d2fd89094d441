"""Looks into a state file from outside, and asks all kinds of calls whether they refuse it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from driftline.metadata.errors import StoreError
from driftline.serving.stores.sqlite import SqliteStore


def query(path: Path, statement: str) -> list[tuple]:
    with sqlite3.connect(path) as db:
        rows = db.execute(statement).fetchall()
    db.close()
    return rows


def refused(store: SqliteStore, reason: str) -> None:
    """Every kind of call says the path and the reason."""
    for call in (
        store.ping,
        lambda: store.add("w", 1, [], {"n": 1.0}),
        lambda: store.get("k"),
        store.counters,
    ):
        with pytest.raises(StoreError, match=reason) as caught:
            call()
        assert str(caught.value).startswith(f"{store._file.path}: ")
