"""What a sink is: one method that sends one message and says how it went."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple, Protocol

from msgspec import Struct

from driftline.drift.verdict import Language

from ..secret import Secret
from .alert import Message
from .routes import Route


class SinkSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One receiver: its name is permanent, since what it has been told is kept under it. A name is
    1 to 64 letters, digits, dots, dashes and underscores, since it goes into headers as well.

    `url` and `secret` are given away by nothing that prints settings.
    """

    name: str
    kind: str
    url: Secret | None = None
    secret: Secret | None = None
    route: Route = Route()
    language: Language | None = None


class Outcome(Struct, frozen=True):
    """How a sending went. `after` is the number of seconds the receiver asks to be left alone.

    ``retry`` for all that may pass or be mended (network, limits, a wrong token); ``refused`` only
    where this very message can never be taken. `reason` holds no secret.
    """

    state: Literal["delivered", "retry", "refused"]
    reason: str = ""
    after: float = 0.0


DELIVERED = Outcome("delivered")


class Limit(NamedTuple):
    """At most `messages` in any `seconds`."""

    messages: int
    seconds: float


class Sink(Protocol):
    """A receiver of alerts.

    - `kind`: the permanent name of its class.
    - `limits`: how often it may be called.
    - `repeat_seconds`: how often it wants a firing alert again until it is resolved; 0: never.
    """

    kind: ClassVar[str]
    limits: ClassVar[tuple[Limit, ...]]
    repeat_seconds: ClassVar[float]

    def __init__(self, settings: SinkSettings, clock: Callable[[], float]) -> None:
        """Takes its address; `clock` gives Unix seconds. Raises SettingError when it cannot do."""
        ...

    def send(self, message: Message) -> Outcome:
        """Sends once, within seconds. May be called again with the same message."""
        ...
