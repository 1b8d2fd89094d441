"""Several ranks of one training: who this is, and what they tell each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class OtherRankFailed(Exception):
    """Another rank could not give its share; the message says which, and why."""


@dataclass(frozen=True)
class _Failure:
    reason: str


def rank_and_size() -> tuple[int, int]:
    """This process's rank and the number of ranks; (0, 1) where no communication was set up."""
    from mindspore.communication import GlobalComm, get_group_size, get_rank

    if not GlobalComm.INITED:
        return 0, 1
    return int(get_rank()), int(get_group_size())


def exchanged(share: Callable[[], T]) -> list[T]:
    """What `share` gives on every rank, in the order of ranks, on every rank.

    Every rank has to come here equally often, so an error of `share` is told to the others before
    it is raised: a rank that stayed away would leave them waiting for ever.

    Raises:
        OtherRankFailed: `share` raised on another rank.
        Exception: what `share` raised here.
    """
    _, size = rank_and_size()
    if size == 1:
        return [share()]
    error: Exception | None = None
    told: T | _Failure
    try:
        told = share()
    except Exception as raised:
        error, told = raised, _Failure(f"{type(raised).__name__}: {raised}")
    shares = _gathered(told, size)
    if error is not None:
        raise error
    for rank, each in enumerate(shares):
        if isinstance(each, _Failure):
            raise OtherRankFailed(f"rank {rank}: {each.reason}")
    return shares


def _gathered(item: Any, size: int) -> list[Any]:
    from mindspore.mint import distributed

    items: list[Any] = [None] * size
    distributed.all_gather_object(items, item)
    return items
