"""A device that is too hot."""

from __future__ import annotations

from .rule import RULES, Rule, View

SUFFIX = "/temperature_celsius"


@RULES.register
class OverTemperature(Rule):
    """Fires when a device's temperature is above `limit` degrees Celsius."""

    kind = "over_temperature"
    needs = frozenset({"hottest_celsius"})
    calm = 3

    def __init__(self, *, limit: float = 85.0, patience: int = 2) -> None:
        self.limit = limit
        self.patience = patience

    def check(self, view: View) -> str | None:
        """Names the hottest device."""
        found = {name: value for name, value in view.values.items() if name.endswith(SUFFIX)}
        if not found or view.values["hottest_celsius"] <= self.limit:
            return None
        name = max(found, key=lambda each: found[each])
        device = name.removesuffix(SUFFIX)
        return f"{device} is at {found[name]:.0f} °C, above {self.limit:.0f} °C."

    def rests_on(self, view: View) -> frozenset[str]:
        """The devices that are too hot: others are read more often."""
        return frozenset(
            name
            for name, value in view.values.items()
            if name.endswith(SUFFIX) and value > self.limit
        )
