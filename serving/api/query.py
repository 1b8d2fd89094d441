"""What stands behind the question mark of an address."""

from __future__ import annotations

from flask import request

from driftline.metadata.errors import InputError


def number(name: str, default: int, most: int) -> int:
    """A whole number of the query.

    Raises:
        InputError: it is none, or not within 0 and `most`.
    """
    text = request.args.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 20 or int(text) > most:
        raise InputError(name, f"a whole number from 0 to {most} is wanted")
    return int(text)
