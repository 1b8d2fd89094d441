"""Probes: each measures one thing about a training step."""

from .ascend import Ascend
from .gradients import GradientNorms
from .host import Host
from .learning_rate import LearningRate
from .loss import Loss
from .nvidia import Nvidia
from .parameters import Parameters
from .probe import GAUGES, PROBES, Gauge, Gradients, Probe, Step, Timing
from .throughput import Throughput

__all__ = [
    "GAUGES",
    "PROBES",
    "Ascend",
    "Gauge",
    "GradientNorms",
    "Gradients",
    "Host",
    "LearningRate",
    "Loss",
    "Nvidia",
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
    return (Host(), Nvidia(), Ascend())
