"""The hooks before and after a prediction, and the way of a request from there to the store."""

from .monitor import InferenceMonitor

__all__ = ["InferenceMonitor"]
