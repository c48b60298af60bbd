"""What is said may name what somebody else has named."""

from __future__ import annotations

import click


def say(text: str, *, err: bool = False) -> None:
    """Print lines; of a file's or a case's name no character reaches the terminal that could draw there."""
    from analysis.plain import printable

    click.echo(printable(text, keep="\n"), err=err)
