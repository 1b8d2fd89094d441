"""How a training monitor works, where its defaults do not fit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from driftline.metadata.errors import SettingError

_RUN = re.compile(r"\w[\w.-]{0,99}")


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """Frozen, checked when it is made.

    - `run`: the name under which the board shows the run; the folder's name and the time, if None.
    - `budget`: the share of the training's time that may be spent, of 1.
    - `every`: a point at each so many steps, whatever it costs; adapted to the budget if None.
    - `deep_every`: the same for gradients and parameters.
    - `resume`: continue the run that the folder holds. None continues one that did not end by
      itself; a run that is not continued is moved to ``earlier/``.
    - `report`: write ``training_report.md`` at the end.

    Raises:
        SettingError: a number that cannot be.
    """

    run: str | None = None
    budget: float = 0.01
    every: int | None = None
    deep_every: int | None = None
    resume: bool | None = None
    report: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.budget <= 1:
            raise SettingError("budget", f"a share above 0 and up to 1 expected, got {self.budget}")
        if self.run is not None and not _RUN.fullmatch(self.run):
            raise SettingError("run", "1 to 100 letters, digits, dots, dashes or underscores")
        for name in ("every", "deep_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(name, f"at least 1 expected, got {value}")
