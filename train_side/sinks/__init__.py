"""Sinks: each carries the record to one place."""
