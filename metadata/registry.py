"""Kind → class: how a `kind` string in the metadata becomes the class that computes.

A registry is an ordinary object, filled by hand where its family is defined, so a test can make
one of its own. Third parties enter through an entry point whose name is the kind::

    [project.entry-points."driftline.extractors"]
    my_kind = "my_package.my_module:MyExtractor"

Nothing is loaded at import: an entry point is looked up when its kind is asked for and unknown.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

import msgspec

from .allowed import naming_allowed
from .errors import FieldError, MetadataError, UnknownKind

T = TypeVar("T")

_AT = re.compile(r"^(?P<reason>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_FIELD = re.compile(r"^Object (?P<what>contains unknown|missing required) field `(?P<name>.*)`$")


class Registry(Generic[T]):
    """The classes of one family by their permanent kind.

    The kind of a class is its msgspec tag, or else its attribute `kind`.

    Args:
        family: what the classes are, in the singular (``"extractor"``); also names the entry-point
            group, ``driftline.<family>s``.
    """

    def __init__(self, family: str) -> None:
        self.family = family
        self.group = f"driftline.{family}s"
        self._classes: dict[str, type[T]] = {}
        self._lock = threading.RLock()

    def register(self, cls: type[T]) -> type[T]:
        """Takes the class in under its kind, and returns it.

        Raises:
            UnknownKind: the class has no kind, or the kind is taken; the reason names the holder.
        """
        kind = kind_of(cls)
        if kind is None:
            raise UnknownKind(self.family, "", f"{_path(cls)} has no msgspec tag and no `kind`")
        with self._lock:
            holder = self._classes.get(kind)
            if holder is not None:
                reason = f"is taken by {_path(holder)}; {_path(cls)} needs a kind of its own"
                raise UnknownKind(self.family, kind, reason)
            self._classes[kind] = cls
        return cls

    def kinds(self) -> tuple[str, ...]:
        """Every kind that can be asked for, ascending: registered ones and entry points."""
        return tuple(sorted({*self._classes, *(each.name for each in self._entries())}))

    def get(self, kind: str) -> type[T]:
        """The class of a kind; loads its entry point if the kind is not registered yet.

        Raises:
            UnknownKind: nobody offers the kind, two distributions do, or its code fails to load.
        """
        with self._lock:
            found = self._classes.get(kind)
            return found if found is not None else self._load(kind)

    def decode(self, raw: object, field: str) -> T:
        """The instance that `raw`, an object with a ``kind`` as JSON holds it, describes.

        Raises:
            MetadataError: naming the field below `field` that does not fit, an unknown kind
                included.
        """
        if not isinstance(raw, Mapping):
            raise MetadataError(field, f"an object with a `kind` expected, got {_kind_name(raw)}")
        kind = raw.get("kind")
        if not isinstance(kind, str):
            raise MetadataError(f"{field}.kind", f"one of {', '.join(self.kinds())} expected")
        try:
            cls = self.get(kind)
            return msgspec.convert(raw, cls)
        except UnknownKind as error:
            raise MetadataError(f"{field}.kind", f"{kind!r} {error.reason}") from error
        except FieldError as error:  # a class's own check of its settings
            raise MetadataError(_below(field, f".{error.field}"), error.reason) from error
        except msgspec.ValidationError as error:
            path, reason = _where(str(error))
            reason = naming_allowed(reason, cls, path)
            raise MetadataError(_below(field, path), reason) from error

    def encode(self, instance: T) -> dict[str, Any]:
        """The JSON object that `decode` makes an equal instance of."""
        encoded: dict[str, Any] = msgspec.to_builtins(instance)
        return encoded

    def _entries(self) -> tuple[EntryPoint, ...]:
        return tuple(entry_points(group=self.group))

    def _load(self, kind: str) -> type[T]:
        found = [each for each in self._entries() if each.name == kind]
        if not found:
            reason = f"is unknown; known are {', '.join(self.kinds()) or 'none'}"
            raise UnknownKind(self.family, kind, reason)
        if len({each.value for each in found}) > 1:
            offers = " and ".join(each.value for each in found)
            raise UnknownKind(self.family, kind, f"is offered twice, by {offers}")
        try:
            cls: type[T] = found[0].load()
        except Exception as error:  # whatever a third party's import may raise
            reason = f"its entry point {found[0].value} does not load: {error!r}"
            raise UnknownKind(self.family, kind, reason) from error
        if kind_of(cls) != kind:
            reason = f"its entry point {found[0].value} is of kind {kind_of(cls)!r}"
            raise UnknownKind(self.family, kind, reason)
        return self.register(cls)


def kind_of(cls: type[Any]) -> str | None:
    """The msgspec tag of a class, or else its attribute `kind`; None if it has neither."""
    config = getattr(cls, "__struct_config__", None)
    kind = getattr(config, "tag", None) or getattr(cls, "kind", None)
    return kind if isinstance(kind, str) else None


def _where(message: str) -> tuple[str, str]:
    """Path and reason of a msgspec message, the path led down to the field it speaks of."""
    at = _AT.match(message)
    path, reason = (at["path"] or "", at["reason"]) if at else ("", message)
    if field := _FIELD.match(reason):
        known = {"contains unknown": "is not a known field", "missing required": "is missing"}
        return f"{path}.{field['name']}", known[field["what"]]
    return path, reason


def _path(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _kind_name(raw: object) -> str:
    return "null" if raw is None else type(raw).__name__


def _below(field: str, path: str) -> str:
    return f"{field}{path}" if field else path.lstrip(".")
