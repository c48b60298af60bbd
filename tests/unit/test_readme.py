"""What README.md promises is there: links, commands, options, suites."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import bench.cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_every_link_into_the_repository_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_and_option_that_is_shown_exists() -> None:
    context = click.Context(bench.cli.group)
    shown = re.findall(r"(?<!\w)bench ([a-z]+)([^`\n]*)", README)
    assert len(shown) > 5
    for name, rest in shown:
        command = bench.cli.group.get_command(context, name)
        assert command is not None, name
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, name


@pytest.mark.parametrize("name", re.findall(r"bench (?:suite|show) ([a-z_]+)", README))
def test_every_suite_that_is_named_ships(name: str) -> None:
    assert (ROOT / "suites" / f"{name}.yaml").is_file()


def test_every_folder_to_add_a_file_to_exists() -> None:
    named = re.findall(r"`((?:bench|analysis|results)[\w./-]*/[\w./-]+)`", README)
    assert [
        place for place in named if not place.startswith("results/") and not (ROOT / place).exists()
    ] == []
