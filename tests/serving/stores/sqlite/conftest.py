from __future__ import annotations

from pathlib import Path

import pytest

from driftline.serving.stores.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def store(path: Path, kit):
    store = SqliteStore(path, timeout=0.2, clock=kit.clock)
    yield store
    store.close()
