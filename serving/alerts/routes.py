"""Routes: which alerts a sink wants to hear of."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from driftline.drift.verdict import Severity
from driftline.metadata.signals import Group

from .alert import SEVERITIES, Alert, Kind


class Route(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Wants alerts at or above a severity, of some kinds, models and signal groups.

    An empty tuple leaves the choice open. `groups` narrows only alerts that name any: one of them
    that is wanted will do.
    """

    severity: Severity = "minor"
    kinds: tuple[Kind, ...] = ()
    groups: tuple[Group, ...] = ()
    models: tuple[str, ...] = ()

    def wants(self, alert: Alert) -> bool:
        """True when the alert, as it is now, is to be told here."""
        return (
            SEVERITIES.index(alert.severity) >= SEVERITIES.index(self.severity)
            and (not self.kinds or alert.kind in self.kinds)
            and (not self.models or alert.model in self.models)
            and (not self.groups or not alert.groups or bool({*self.groups} & {*alert.groups}))
        )


Routes = Mapping[str, Route]
"""The routes of all sinks, by the sinks' names."""
