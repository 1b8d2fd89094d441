"""Probes: each measures one thing about a training step."""
