"""Where an enum value is refused, those that there are are named, wherever the field stands."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from driftline.metadata.allowed import naming_allowed

Colour = Literal["red", "green"]


class Part(Struct):
    colour: Colour = "red"


class Whole(Struct):
    colour: Colour | None = None
    parts: Annotated[tuple[Part, ...], Meta(max_length=9)] = ()
    named: dict[str, Part] = {}
    several: list[Part | None] = []
    other: int = 0


@pytest.mark.parametrize(
    "given",
    [
        {"colour": "blue"},
        {"parts": [{}, {"colour": "blue"}]},
        {"named": {"a": {"colour": "blue"}}},
        {"several": [None, {"colour": "blue"}]},
    ],
)
def test_a_refused_value_is_told_with_those_allowed(given: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(given, Whole)
    reason, _, path = str(refused.value).partition(" - at `")
    said = naming_allowed(reason, Whole, path.rstrip("`"))
    assert said == "Invalid enum value 'blue'; one of green, red is wanted"


def test_another_reason_stays_as_it_is() -> None:
    assert naming_allowed("Expected `int`", Whole, "$.other") == "Expected `int`"
    assert naming_allowed("Invalid enum value 1", Whole, "$.nowhere") == "Invalid enum value 1"
