"""All models and versions that a store knows, as one part of a scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from driftline.metadata.schema import ModelMetadata

from ..evaluation.standing import Standing
from ..known import Version, known
from ..stores.store import Store
from . import service, verdicts
from .service import MODEL


class ModelCollector:
    """What was counted and judged.

    Args:
        store: with the state of all workers and replicas.
        own: the model and version that are served here, told of even before their first request.
        now: Unix second of the scrape.
        remember: is given the newest standing of `own`, for when the store is away.
    """

    def __init__(
        self, store: Store, own: Version, *, now: float, remember: Callable[[Standing], None]
    ) -> None:
        self._store = store
        self._own = own
        self._now = now
        self._remember = remember

    def collect(self) -> Iterator[Metric]:
        """The families of all versions.

        Raises:
            StoreError: the store is away.
        """
        versions = known(self._store, self._own, self._now)
        yield from service.families(versions)
        standings = {name: each.standing for name, each in versions.items() if each.standing}
        if self._own in standings:
            self._remember(standings[self._own])
        yield from verdicts.families(standings)


class Packaged:
    """What the package that is served here says itself, known without a store."""

    def __init__(self, metadata: ModelMetadata) -> None:
        self._metadata = metadata

    def collect(self) -> Iterator[Metric]:
        """The gauges; without samples where the package says nothing."""
        metadata = self._metadata
        labels = (metadata.model.name, metadata.model.version)
        info = GaugeMetricFamily(
            "driftline_model_info", "1 for the package that is served.", labels=(*MODEL, "digest")
        )
        info.add_metric((*labels, metadata.metadata_sha256[:12]), 1)
        yield info
        for name in ("p50", "p95"):
            latency = GaugeMetricFamily(
                f"driftline_packaged_latency_{name}_seconds",
                "Seconds of a prediction on the packaging host.",
                labels=MODEL,
            )
            if metadata.latency is not None:
                latency.add_metric(labels, getattr(metadata.latency, name))
            yield latency
        accuracy = GaugeMetricFamily(
            "driftline_packaged_accuracy", "Accuracy on held-out data when packaged.", labels=MODEL
        )
        if metadata.quality is not None and metadata.quality.accuracy is not None:
            accuracy.add_metric(labels, metadata.quality.accuracy)
        yield accuracy
