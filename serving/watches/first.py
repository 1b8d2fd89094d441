"""Whether a version is served for the first time, so that all that is counted of it is new."""

from __future__ import annotations

import msgspec

from ..evaluation.timeline import Point
from ..known import Version
from ..stores.store import Store


def is_first_served(store: Store, version: Version, since: float) -> bool:
    """True if no package of the version was ever judged before the Unix second `since`; who counts
    also judges, so nothing was counted before either. False where that cannot be told any more.

    Raises:
        StoreError: the store is away.
    """
    timelines = store.logs(f"timeline/{version[0]}/{version[1]}/")
    return bool(timelines) and all(_begins_after(store, each, since) for each in timelines)


def _begins_after(store: Store, timeline: str, since: float) -> bool:
    first = store.entries(timeline, 0, 1)
    if not first or first[0].sequence != 1:
        return False  # its begin was forgotten
    try:
        return msgspec.json.decode(first[0].value, type=Point).at >= int(since)
    except msgspec.MsgspecError:
        return False
