"""The sides of a comparison: a session each, or several that count as one side.

A side that is one session is its id, so that the name of a page and what it says of itself are those of its sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Sides = Sequence[str | Sequence[str]]
"""Session ids, the baseline first; several that are one side are a list of their own."""


def of_ids(sides: Iterable[Sequence[str]]) -> list[str | list[str]]:
    return [ids[0] if len(ids) == 1 else list(ids) for ids in sides]


def ids(side: str | Sequence[str]) -> list[str]:
    return [side] if isinstance(side, str) else list(side)


def flat(sides: Sides) -> list[str]:
    """Every session, in the order of the letters A, B, C ..."""
    return [session_id for side in sides for session_id in ids(side)]


def together(sides: Sides, names: Sequence[str]) -> list[str]:
    """A name for each side, `A with B`; `names` are those of its sessions, as `flat` orders them."""
    left = iter(names)
    return [" with ".join(next(left) for _ in ids(side)) for side in sides]


def letter_of(place: int) -> str:
    """A ... Z, AA, AB ..."""
    before, last = divmod(place, 26)
    return (letter_of(before - 1) if before else "") + chr(ord("A") + last)
