"""Tags: words that mark a session."""

from __future__ import annotations

from collections.abc import Sequence

from bench.common.errors import InputError

_LONGEST = 64


def check_tags(tags: Sequence[str]) -> None:
    """Raise InputError if a tag is empty or too long to show."""
    for tag in tags:
        if not tag.strip():
            raise InputError("--tag is empty: give it a word, or leave it out")
        if len(tag) > _LONGEST:
            raise InputError(f"--tag {tag[:_LONGEST]}… has {len(tag):,} characters: shorten it to {_LONGEST}")
