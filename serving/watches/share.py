"""Is a share too large, chance ruled out? Yes, no, or cannot be said."""

from __future__ import annotations

from scipy.stats import beta

# The chance at which one look, at a share that is just tolerated, would call it too large.
CHANCE = 1e-4
LEAST = 20


def too_large(hits: float, total: float, tolerated: float) -> bool | None:
    """True when the share is surely above `tolerated`: its one-sided Clopper–Pearson bound is.

    False when the share itself is not above it; None in between, and below 20 cases: an alert
    that fires goes on then, and none begins.
    """
    if total < LEAST:
        return None
    if hits <= tolerated * total:
        return False
    lowest = beta.ppf(CHANCE, hits, total - hits + 1)
    return True if lowest > tolerated else None


def percent(share: float) -> str:
    """``7.2 %``."""
    return f"{share:.1%}".replace("%", " %")
