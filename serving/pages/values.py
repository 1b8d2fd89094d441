"""Where each of driftline's own values stands on the training page; all other names are the user's.

The names that training and service share come from the one table they share; beside them stand
those that only the page tells apart. A name is looked up as it is: a metric of the user's that
sounds like one of these stays with the user's.
"""

from __future__ import annotations

import json

from driftline.metadata.training_values import TRAINING_VALUES

MAIN = ("loss", "lr", "grad_norm", "samples_per_second")
# In the order in which they stand on the page.
MORE = (
    *(name for name in TRAINING_VALUES if name not in MAIN),
    "epoch_loss",
    "epoch_loss_sd",
    "param_norm",
    "update_ratio",
    "loss_scale",
    "overflow",
)
# ``{}`` stands for the number of a device.
HARDWARE = (
    "host/cpu_percent",
    "host/memory_percent",
    "host/temperature_celsius",
    "process/cpu_percent",
    "process/memory_bytes",
    "hottest_celsius",
    "gpu{}/util_percent",
    "gpu{}/memory_bytes",
    "gpu{}/memory_percent",
    "gpu{}/temperature_celsius",
    "npu{}/util_percent",
    "npu{}/memory_bytes",
    "npu{}/memory_percent",
    "npu{}/temperature_celsius",
    "npu{}/power_watts",
)
# No curves of their own.
HIDDEN = ("epoch", "lr_scheduled")


def module() -> str:
    """The same as a JavaScript module: the page guesses nothing."""
    sections = {"main": MAIN, "more": MORE, "hardware": HARDWARE, "hidden": HIDDEN}
    return f"export const VALUES = {json.dumps(sections)};\n"
