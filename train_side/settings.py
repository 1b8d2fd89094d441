"""How a training monitor works, where its defaults do not fit."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driftline.metadata.errors import SettingError

_RUN = re.compile(r"\w[\w.-]{0,99}")


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Which steps are looked at.

    - `budget`: the share of the training's time that may be spent, of 1.
    - `every`: a point at each so many steps, whatever it costs; adapted to the budget if None.
    - `deep_every`: the same for gradients and parameters.

    Raises:
        SettingError: a number that cannot be.
    """

    budget: float = 0.01
    every: int | None = None
    deep_every: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.budget <= 1:
            raise SettingError("budget", f"a share above 0 and up to 1 expected, got {self.budget}")
        for name in ("every", "deep_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(name, f"at least 1 expected, got {value}")


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """Frozen, checked when it is made.

    - `run`: the name under which the board shows the run; the folder's name and the time, if None.
    - `resume`: continue the run that the folder holds. None continues one that did not end by
      itself; a run that is not continued is moved to ``earlier/``.
    - `report`: write ``training_report.md`` at the end.
    - `held_out`: data for the look-back in the report: a MindSpore dataset, or an iterable of
      (inputs…, label) arrays. If None, the reference of a `FingerprintCallback` beside it.
    - `package`: the package that is looked back at, if None that of a `FingerprintCallback`.

    Raises:
        SettingError: a name that cannot be.
    """

    run: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    resume: bool | None = None
    report: bool = True
    held_out: Any = None
    package: Path | str | None = None

    def __post_init__(self) -> None:
        if self.run is not None and not _RUN.fullmatch(self.run):
            raise SettingError("run", "1 to 100 letters, digits, dots, dashes or underscores")
