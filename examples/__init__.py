"""Programs that show driftline at work."""
