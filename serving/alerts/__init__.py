"""Alerts: an outbox that survives restarts, and one sink a receiver."""
