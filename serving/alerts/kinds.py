"""The kinds of sinks there are."""

from __future__ import annotations

from driftline.metadata.registry import Registry

from .alertmanager import Alertmanager
from .cloudevents import CloudEvents
from .dingtalk import DingTalk
from .feishu import Feishu
from .log import Log
from .sink import Sink
from .slack import Slack
from .wecom import WeCom


def sinks() -> Registry[Sink]:
    """A new registry with every kind of driftline's own; others enter through the entry-point
    group ``driftline.alert_sinks``."""
    registry: Registry[Sink] = Registry("alert_sink")
    for each in (Alertmanager, CloudEvents, DingTalk, Feishu, Log, Slack, WeCom):
        registry.register(each)
    return registry
