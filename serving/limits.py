"""Thresholds that are set where a model is served, over those of its package.

::

    false_alarms = "1 per 7d"
    low_confidence = 0.4

    [default]
    psi = 0.15

    [groups.input]
    mean_change = 0.05

    [signals.age]
    mean_low = 18
    mean_high = 80

What the file leaves out stays as the package has it, field by field.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from driftline.drift.thresholds import check_thresholds, read_thresholds
from driftline.metadata.errors import SettingError
from driftline.metadata.reference import Reference
from driftline.metadata.thresholds import Thresholds

Limits = str | os.PathLike[str] | Mapping[str, Any] | Thresholds
"""A file (JSON where it ends in ``.json``, else TOML), its contents, or all thresholds at once."""


def limited(packaged: Thresholds, given: Limits | None, reference: Reference) -> Thresholds:
    """The package's thresholds with what is `given` over them; None changes nothing.

    Raises:
        SettingError: naming the setting, group or signal that is unknown or impossible, or the
            file that cannot be read.
    """
    if given is None:
        return packaged
    found = given
    if not isinstance(found, Thresholds):
        raw = found if isinstance(found, Mapping) else _contents(Path(found))
        found = read_thresholds(_merged(msgspec.to_builtins(packaged), raw))
    check_thresholds(found, reference)
    return found


def _merged(wide: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(wide)
    for name, value in own.items():
        before = merged.get(name)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[name] = _merged(before, value) if both else value  # type: ignore[arg-type]
    return merged


def _contents(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        raw = msgspec.json.decode(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("thresholds", f"{path} cannot be read: {error}") from None
    except (msgspec.DecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError("thresholds", f"{path}: {error}") from None
    if not isinstance(raw, Mapping):
        raise SettingError("thresholds", f"{path}: an object is wanted")
    return raw
