"""One scrape: every part that can be had now, and whether the store can."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from driftline.metadata.errors import StoreError

log = logging.getLogger(__name__)


class Part(Protocol):
    """A collector that may raise StoreError."""

    def collect(self) -> Iterator[Metric]:
        """Its families, all or none."""
        ...


class Exposition(Collector):
    """The families of its parts; ``driftline_store_up`` is 0 as soon as one of them fails.

    Totals are left out while the store is away, and not told as they were: workers remember
    different ones, and a counter that goes back and forth would look like a restart.

    Args:
        parts: each is asked once, and left out as a whole if the store is away.
        fallback: what is known without the store.
    """

    def __init__(self, parts: Iterable[Part], fallback: Callable[[], Iterable[Metric]]) -> None:
        self._parts = tuple(parts)
        self._fallback = fallback

    def collect(self) -> Iterator[Metric]:
        """The families."""
        up = 1
        for part in self._parts:
            try:
                families = list(part.collect())
            except StoreError as error:
                log.debug("a part of the metrics is left out: %s", error)
                families, up = [], 0
            yield from families
        if not up:
            yield from self._fallback()
        yield GaugeMetricFamily(
            "driftline_store_up", "1 if the shared state can be read.", value=up
        )


def exposed(collector: Collector, accept: str) -> tuple[bytes, str]:
    """The text in the format that `accept` prefers, and its content type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    encoder, content_type = choose_encoder(accept)
    return encoder(registry), content_type
