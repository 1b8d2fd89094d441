"""Prometheus: what the store knows, the same from whichever worker is asked."""
