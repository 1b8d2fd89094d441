"""`Registry`: by hand, through entry points, and what it says when a kind does not fit."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from msgspec import Struct

from driftline.metadata import registry
from driftline.metadata.errors import MetadataError, SettingError, UnknownKind
from driftline.metadata.registry import Registry


class Inner(Struct, frozen=True, forbid_unknown_fields=True):
    depth: int


class Widget(Struct, frozen=True, forbid_unknown_fields=True, tag="widget", tag_field="kind"):
    size: int
    inner: Inner | None = None

    def __post_init__(self) -> None:
        if self.size < 0:
            raise SettingError("size", "cannot be negative")


class Gadget(Struct, frozen=True, tag="gadget", tag_field="kind"):
    name: str = "g"


class Plain:
    kind = "plain"


@pytest.fixture
def widgets() -> Registry:
    found: Registry = Registry("widget")
    found.register(Widget)
    return found


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch):
    """Entry points as if distributions had declared them."""
    asked: list[str] = []

    def declare(*entries: tuple[str, str]) -> list[str]:
        def entry_points(*, group: str) -> list[EntryPoint]:
            asked.append(group)
            return [EntryPoint(name, value, group) for name, value in entries]

        monkeypatch.setattr(registry, "entry_points", entry_points)
        return asked

    return declare


def here(name: str) -> str:
    return f"{__name__}:{name}"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch):
    """This module under its own name, for entry points to load it."""
    import sys
    import types

    module = types.ModuleType(__name__)
    module.__dict__.update(globals())
    monkeypatch.setitem(sys.modules, __name__, module)


def test_a_registry_knows_what_was_registered(widgets: Registry):
    widgets.register(Plain)
    assert widgets.kinds() == ("plain", "widget")
    assert widgets.get("widget") is Widget
    assert widgets.get("plain") is Plain


def test_registries_share_nothing(widgets: Registry):
    assert Registry("widget").kinds() == ()


def test_a_taken_kind_names_its_holder(widgets: Registry):
    class Other(Struct, tag="widget", tag_field="kind"):
        pass

    with pytest.raises(UnknownKind, match=r"is taken by .*Widget") as caught:
        widgets.register(Other)
    assert (caught.value.family, caught.value.kind) == ("widget", "widget")
    with pytest.raises(UnknownKind, match="is taken"):
        widgets.register(Widget)
    assert widgets.get("widget") is Widget


def test_a_class_without_a_kind_is_refused(widgets: Registry):
    with pytest.raises(UnknownKind, match="has no msgspec tag"):
        widgets.register(int)


def test_what_is_encoded_is_decoded(widgets: Registry):
    widget = Widget(3, Inner(2))
    raw = widgets.encode(widget)
    assert raw == {"kind": "widget", "size": 3, "inner": {"depth": 2}}
    assert widgets.decode(raw, "w") == widget


@pytest.mark.parametrize(
    ("raw", "field", "reason"),
    [
        (None, "w", "got null"),
        ([], "w", "got list"),
        ({}, "w.kind", "one of widget expected"),
        ({"kind": 3}, "w.kind", "one of widget expected"),
        ({"kind": "wodget"}, "w.kind", "'wodget' is unknown; known are widget"),
        ({"kind": "widget"}, "w.size", "is missing"),
        ({"kind": "widget", "size": "3"}, "w.size", "Expected `int`"),
        ({"kind": "widget", "size": True}, "w.size", "Expected `int`"),
        ({"kind": "widget", "size": 3, "colour": 1}, "w.colour", "not a known field"),
        ({"kind": "widget", "size": -1}, "w.size", "cannot be negative"),
        ({"kind": "widget", "size": 1, "inner": {}}, "w.inner.depth", "is missing"),
        ({"kind": "widget", "size": 1, "inner": {"depth": None}}, "w.inner.depth", "Expected"),
        ({"kind": "widget", "size": 1, "inner": {"depth": 1, "x": 1}}, "w.inner.x", "known"),
    ],
)
def test_what_does_not_fit_is_named(widgets: Registry, raw: object, field: str, reason: str):
    with pytest.raises(MetadataError) as caught:
        widgets.decode(raw, "w")
    assert caught.value.field == field
    assert reason in caught.value.reason


def test_without_a_field_above_the_path_stands_alone(widgets: Registry):
    with pytest.raises(MetadataError) as caught:
        widgets.decode({"kind": "widget"}, "")
    assert caught.value.field == "size"


def test_entry_points_are_asked_only_for_an_unknown_kind(widgets: Registry, offer):
    asked = offer(("gadget", here("Gadget")))
    assert widgets.get("widget") is Widget
    assert asked == []
    assert widgets.get("gadget").__name__ == "Gadget"
    assert asked == ["driftline.widgets"]
    assert widgets.get("gadget").__name__ == "Gadget"
    assert len(asked) == 1


def test_another_kinds_broken_entry_point_does_no_harm(widgets: Registry, offer):
    offer(("gadget", here("Gadget")), ("broken", "no_such_module:X"))
    assert widgets.decode({"kind": "gadget"}, "w").name == "g"
    assert widgets.kinds() == ("broken", "gadget", "widget")


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([("odd", "no_such_module:X")], "no_such_module:X does not load"),
        ([("odd", here("Gadget"))], "is of kind 'gadget'"),
        ([("odd", here("Gadget")), ("odd", here("Widget"))], "offered twice"),
        ([("odd", here("offer"))], "is of kind None"),
        ([], "is unknown; known are widget"),
    ],
)
def test_an_entry_point_that_does_not_fit_says_why(
    widgets: Registry, offer, entries: list[tuple[str, str]], reason: str
):
    offer(*entries)
    with pytest.raises(UnknownKind) as caught:
        widgets.get("odd")
    assert reason in caught.value.reason
