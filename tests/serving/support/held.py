"""Models that load when the test lets them: what ``--predictor held:load`` names.

In the folder that the variable HELD names, a file ``2.held`` keeps version 2 loading, and with
``2.broken`` it does not load at all; each process that loads it leaves a file ``2.loading.<pid>``.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import served

from driftline.metadata.package import ModelPackage


def load(package: ModelPackage) -> served.NumpyModel:
    folder, version = Path(os.environ["HELD"]), package.metadata.model.version
    (folder / f"{version}.loading.{os.getpid()}").touch()
    while (folder / f"{version}.held").exists():
        time.sleep(0.02)
    if (folder / f"{version}.broken").exists():
        raise RuntimeError("held back for good")
    return served.load(package)
