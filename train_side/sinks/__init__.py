"""Sinks: each carries the record to one place."""

from .board import Board
from .console import Console
from .sink import SINKS, Run, Sink, Values

__all__ = ["SINKS", "Board", "Console", "Run", "Sink", "Values", "default_sinks"]


def default_sinks() -> tuple[Sink, ...]:
    """The console."""
    return (Console(),)
