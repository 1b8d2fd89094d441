"""Rules: each looks at the record and says when something is wrong."""

from .frozen_learning_rate import FrozenLearningRate
from .gradient_concentration import GradientConcentration
from .gradient_dispersion import GradientDispersion
from .gradient_explosion import GradientExplosion
from .gradient_vanishing import GradientVanishing
from .loss_rise import LossRise
from .non_finite import NonFinite
from .oscillation import Oscillation
from .over_temperature import OverTemperature
from .rule import RULES, Episode, Rule, View
from .throughput_drop import ThroughputDrop

__all__ = [
    "RULES",
    "Episode",
    "FrozenLearningRate",
    "GradientConcentration",
    "GradientDispersion",
    "GradientExplosion",
    "GradientVanishing",
    "LossRise",
    "NonFinite",
    "Oscillation",
    "OverTemperature",
    "Rule",
    "ThroughputDrop",
    "View",
    "default_rules",
]


def default_rules() -> tuple[Rule, ...]:
    """One of each, with its default thresholds."""
    return (
        NonFinite(),
        GradientExplosion(),
        GradientVanishing(),
        GradientConcentration(),
        GradientDispersion(),
        LossRise(),
        Oscillation(),
        ThroughputDrop(),
        OverTemperature(),
        FrozenLearningRate(),
    )
