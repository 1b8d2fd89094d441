"""The mathematics of change: pure functions of (reference, counts)."""
