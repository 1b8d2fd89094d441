"""Sinks: each carries the record to one place."""

from .board import Board
from .console import Console
from .prometheus import Prometheus
from .sink import SINKS, Run, Sink, Values
from .tensorboard import TensorBoard

__all__ = [
    "SINKS",
    "Board",
    "Console",
    "Prometheus",
    "Run",
    "Sink",
    "TensorBoard",
    "Values",
    "default_sinks",
]


def default_sinks() -> tuple[Sink, ...]:
    """The console and TensorBoard's files."""
    return (Console(), TensorBoard())
