"""Settings resolved: signal before group before default before built in, unknown names refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from driftline.metadata.errors import SettingError
from driftline.metadata.reference import Reference, SignalReference
from driftline.metadata.signals import GROUPS
from driftline.metadata.thresholds import Rule, Thresholds

BUILT_IN = Rule(psi=0.1, rise=0.01, inflation=1.0)
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_PROMISE = re.compile(r"\s*(\d+(?:\.\d+)?)\s+per\s+(\d+(?:\.\d+)?)\s*([smhdw])\s*")
# The loosest promise that buckets of another width than the settings were made for are judged by.
COARSEST = 0.1
LEAST = {"psi": 0.0, "rise": 0.0, "inflation": 1.0, "mean_change": 0.0}
PROBABILITIES = ("low_confidence", "accuracy_loss")


def read_thresholds(settings: Mapping[str, Any]) -> Thresholds:
    """Thresholds from plain settings, as they stand in JSON or TOML.

    Raises:
        SettingError: a setting is unknown, has the wrong type or an impossible value.
    """
    try:
        found = msgspec.convert(dict(settings), Thresholds)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        unknown = re.search(r"unknown field `([^`]+)`", reason)
        field = path.rstrip("`").lstrip(".")
        if unknown:
            named = f"{field}.{unknown[1]}".lstrip(".")
            raise SettingError(named, "no such setting") from error
        raise SettingError(field, reason) from error
    check_thresholds(found)
    return found


def check_thresholds(thresholds: Thresholds, reference: Reference | None = None) -> None:
    """Passes if every value can be, and every name is one of the reference's.

    Raises:
        SettingError: naming the setting.
    """
    false_alarms(thresholds)
    names = None if reference is None else {each.name for each in reference.signals}
    for group in thresholds.groups:
        if group not in GROUPS:
            raise SettingError(f"groups.{group}", f"no such group; there are {', '.join(GROUPS)}")
    for name in thresholds.signals:
        if names is not None and name not in names:
            raise SettingError(f"signals.{name}", "the reference has no such signal")
    rules = {"default": thresholds.default}
    rules |= {f"groups.{name}": rule for name, rule in thresholds.groups.items()}
    rules |= {f"signals.{name}": rule for name, rule in thresholds.signals.items()}
    for where, rule in rules.items():
        for field in Rule.__struct_fields__:
            value = getattr(rule, field)
            if value is None:
                continue
            least = LEAST.get(field, -math.inf)
            if not math.isfinite(value) or value < least:
                bound = "a finite number" if least == -math.inf else f"at least {least:g}"
                raise SettingError(f"{where}.{field}", f"must be {bound}, got {value}")
    for field in ("latency_ms", *PROBABILITIES):
        check_limit(field, getattr(thresholds, field))


def check_limit(field: str, value: float | None) -> None:
    """Passes if the plain limit `field` can be `value`; None sets no limit.

    Raises:
        SettingError: naming the limit.
    """
    if value is None:
        return
    if field in PROBABILITIES:
        fits, wanted = 0 <= value <= 1, "from 0 to 1"
    else:
        fits, wanted = 0 < value < math.inf, "a finite number above 0"
    if not fits:
        raise SettingError(field, f"must be {wanted}, got {value:g}")


def rule_of(thresholds: Thresholds, each: SignalReference) -> Rule:
    """The settings of one signal, all of those that are built in filled in."""
    own, group = thresholds.signals.get(each.name), thresholds.groups.get(each.signal.group)
    places = [place for place in (own, group, thresholds.default, BUILT_IN) if place is not None]
    return _first_of(tuple(places))


@lru_cache(maxsize=4096)
def _first_of(places: tuple[Rule, ...]) -> Rule:
    def first(field: str) -> float | None:
        return next((x for place in places if (x := getattr(place, field)) is not None), None)

    return Rule(*(first(field) for field in Rule.__struct_fields__))


def false_alarms(thresholds: Thresholds) -> float:
    """The promised number of false alarms a second.

    Raises:
        SettingError: it is not ``"<number> per <number><s|m|h|d|w>"`` with numbers above 0.
    """
    text = thresholds.false_alarms
    found = _PROMISE.fullmatch(text)
    if not found or not float(found[1]) > 0 or not float(found[2]) > 0:
        raise SettingError("false_alarms", f"write it like '1 per 30d', got {text!r}")
    return float(found[1]) / (float(found[2]) * SECONDS[found[3]])


def alpha_of(thresholds: Thresholds, width: int) -> float:
    """The false-alarm probability allowed a bucket of `width` seconds.

    Raises:
        SettingError: the promise allows an alarm in every second bucket or more.
    """
    alpha = false_alarms(thresholds) * width
    if alpha >= 0.5:
        raise SettingError(
            "false_alarms", f"{thresholds.false_alarms!r} is too many for buckets of {width} s"
        )
    return alpha


def kept_by(thresholds: Thresholds, width: int) -> Thresholds:
    """The thresholds with a promise that buckets of `width` seconds can keep.

    What allows more than one alarm in ten of them, as a promise made for minutes may where hours
    are judged, is tightened to that: fewer false alarms than promised break no promise.
    """
    if false_alarms(thresholds) * width <= COARSEST:
        return thresholds
    return replace(thresholds, false_alarms=f"1 per {width / COARSEST:.0f}s")
