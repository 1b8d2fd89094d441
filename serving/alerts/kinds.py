"""The kinds of sinks there are."""

from __future__ import annotations

from driftline.metadata.registry import Registry

from .cloudevents import CloudEvents
from .log import Log
from .sink import Sink


def sinks() -> Registry[Sink]:
    """A new registry with every kind of driftline's own; others enter through the entry-point
    group ``driftline.alert_sinks``."""
    registry: Registry[Sink] = Registry("alert_sink")
    for each in (CloudEvents, Log):
        registry.register(each)
    return registry
