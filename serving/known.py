"""What the store knows of the models it was told of: counters and standings by model and version.

Two packages of the same model and version share their labels: their counters are added up, and
the newer standing speaks for both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from .evaluation.standing import Standing, decode
from .stores.store import Store

# A version whose verdict nobody renewed for so long is no longer served.
RETIRED_SECONDS = 3600
MOST_VERSIONS = 20

Version = tuple[str, str]

_COUNTER = re.compile(r"([^/]+)/([^/]+)/[0-9a-f]{12}\|(.+)", re.DOTALL)
_VERDICT = re.compile(r"verdict/([^/]+)/([^/]+)/[0-9a-f]{12}")


@dataclass(slots=True)
class Known:
    """Of one version of a model: `counters` by what they count, and its newest standing."""

    counters: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    standing: Standing | None = None


def known(store: Store, own: Version | None, now: float) -> dict[Version, Known]:
    """The versions that are served at `now`, `own` among them in any case; at most 20.

    Raises:
        StoreError: the store is away.
    """
    found: dict[Version, Known] = {} if own is None else {own: Known()}
    standings: dict[Version, Standing] = {}
    for key in store.keys("verdict/"):
        name = _VERDICT.fullmatch(key)
        document = store.get(key) if name else None
        standing = decode(document[1]) if document else None
        if name is None or standing is None:
            continue
        version = (name[1], name[2])
        if version not in standings or standings[version].at < standing.at:
            standings[version] = standing
    newest = sorted(standings, key=lambda each: standings[each].at, reverse=True)
    for version in newest:
        fresh = now - standings[version].at < RETIRED_SECONDS and len(found) < MOST_VERSIONS
        if version in found or fresh:
            found.setdefault(version, Known()).standing = standings[version]
    for key, value in store.counters().items():
        counted = _COUNTER.fullmatch(key)
        if counted and (counted[1], counted[2]) in found:
            found[counted[1], counted[2]].counters[counted[3]] += value
    return found
