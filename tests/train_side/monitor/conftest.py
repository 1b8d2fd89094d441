from __future__ import annotations

from collections.abc import Iterator

import mindspore as ms
import pytest
from watched import MODES


@pytest.fixture(params=list(MODES), scope="module")
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each test of the module in graph and in PyNative mode."""
    before = ms.get_context("mode")
    ms.set_context(mode=MODES[request.param])
    yield request.param
    ms.set_context(mode=before)


@pytest.fixture
def graph() -> Iterator[None]:
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=before)
