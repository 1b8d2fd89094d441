"""A secret: a text that prints as asterisks, wherever it may end up."""

from __future__ import annotations

import hmac


class Secret:
    """A text that only `reveal` gives away; never empty.

    Raises:
        ValueError: the text is empty.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not text:
            raise ValueError("a secret cannot be empty")
        self._text = text

    def reveal(self) -> str:
        """The text itself; to be used and not to be kept."""
        return self._text

    def matches(self, other: str) -> bool:
        """True when equal; takes the same time wherever the first difference is."""
        return hmac.compare_digest(self._text.encode(), other.encode())

    def __repr__(self) -> str:
        return "********"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format("********", spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.matches(other._text)

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not to be pickled")
