"""What a worker has loaded is looked at by no later round of the garbage collector."""

from __future__ import annotations

import gc

import pytest

from driftline.serving.server import settle


@pytest.fixture
def collected():
    yield
    gc.unfreeze()


def test_what_was_there_is_passed_over_and_what_comes_is_not(collected):
    """Else a full round stops a busy worker for a tenth of a second, again and again."""
    there = [[] for _ in range(1_000)]
    settle()
    assert gc.get_freeze_count() > len(there)
    later: list[object] = []
    later.append(later)
    seen = {id(each) for each in gc.get_objects()}
    assert id(later) in seen
    assert not seen & {id(each) for each in there}
