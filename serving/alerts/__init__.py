"""Alerts: an outbox that survives restarts, and one sink a receiver.

::

    alerts = Alerts.open(store, AlertSettings(sinks=(SinkSettings(name="hook", kind="cloudevents",
                                                                  url=Secret("https://…")),)))
    alerts.observe([from_verdict(verdict, "digits", "1")], now, lease)   # the lease holder, often
    alerts.deliver(now, lease)
    alerts.open_alerts()                                                 # any worker
"""

from .alert import Alert, Message, SignalNote, Text
from .alerts import Alerts, AlertSettings, SinkHealth
from .condition import Condition, from_breaches, from_verdict
from .delivery import DeadLetter
from .kinds import sinks
from .patience import Patience
from .routes import Route
from .sink import Limit, Outcome, Sink, SinkSettings
from .tolerance import Tolerance

__all__ = [
    "Alert",
    "AlertSettings",
    "Alerts",
    "Condition",
    "DeadLetter",
    "Limit",
    "Message",
    "Outcome",
    "Patience",
    "Route",
    "SignalNote",
    "Sink",
    "SinkHealth",
    "SinkSettings",
    "Text",
    "Tolerance",
    "from_breaches",
    "from_verdict",
    "sinks",
]
