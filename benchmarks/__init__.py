"""Programs that measure driftline."""
