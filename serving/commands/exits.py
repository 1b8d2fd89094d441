"""Exit codes of the commands that answer a question: 0 no, 1 yes, 2 it could not be said."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from driftline.metadata.errors import DriftlineError

NO, YES, TROUBLE = 0, 1, 2

P = ParamSpec("P")
R = TypeVar("R")


def answering(command: Callable[P, R]) -> Callable[P, R]:
    """The command, its errors ending with 2, so that none is taken for an answer."""

    @functools.wraps(command)
    def run(*args: P.args, **more: P.kwargs) -> R:
        try:
            return command(*args, **more)
        except DriftlineError as error:
            click.echo(f"driftline: {error}", err=True)
            sys.exit(TROUBLE)

    return run
