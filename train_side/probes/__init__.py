"""Probes: each measures one thing about a training step."""

from .gradients import GradientNorms
from .learning_rate import LearningRate
from .loss import Loss
from .parameters import Parameters
from .probe import GAUGES, PROBES, Gauge, Gradients, Probe, Step, Timing
from .throughput import Throughput

__all__ = [
    "GAUGES",
    "PROBES",
    "Gauge",
    "GradientNorms",
    "Gradients",
    "LearningRate",
    "Loss",
    "Parameters",
    "Probe",
    "Step",
    "Throughput",
    "Timing",
    "default_gauges",
    "default_probes",
]


def default_probes() -> tuple[Probe, ...]:
    """All probes that steps are asked with, each with its defaults."""
    return (Loss(), LearningRate(), GradientNorms(), Parameters(), Throughput())


def default_gauges() -> tuple[Gauge, ...]:
    """All that is read beside the steps, each with its defaults."""
    return ()
