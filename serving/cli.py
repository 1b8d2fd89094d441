"""``driftline``: the command line. Commands are loaded when they are called."""

from __future__ import annotations

import importlib
import sys

import click

from driftline.metadata.errors import DriftlineError, SettingError

# name → where it is; a new command is one line here.
COMMANDS = {
    "serve": "driftline.serving.commands.serve:serve",
    "board": "driftline.serving.commands.board:board",
    "status": "driftline.serving.commands.status:status",
    "replay": "driftline.serving.commands.replay:replay",
    "report": "driftline.serving.commands.report:report",
    "compare": "driftline.serving.commands.compare:compare",
    "verify": "driftline.serving.commands.package:verify",
    "inspect": "driftline.serving.commands.package:inspect",
}
WRONG_SETTING, FAILED = 2, 1


class _Commands(click.Group):
    """Imports a command's file only when the command is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=_Commands)
@click.version_option(package_name="driftline")
def cli() -> None:
    """Carries what training knew to where the model serves, and says when the two part ways."""


def main() -> None:
    """The entry point: an error of driftline is one line on standard error, and no traceback."""
    try:
        cli.main(prog_name="driftline")
    except DriftlineError as error:
        click.echo(f"driftline: {error}", err=True)
        sys.exit(WRONG_SETTING if isinstance(error, SettingError) else FAILED)


if __name__ == "__main__":
    main()
