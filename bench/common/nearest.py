"""Suggest the right name for a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 200
"""Characters of a name that are compared; the time grows with their square."""
_MOST_SHOWN = 40
_MOST_WITH_IT = 4
"""Names with the wrong name as a word that are suggested together."""
_VERY_NEAR = 0.8
"""Least similarity of a misspelt name."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?`, or an empty text if no name is near. If none is very near and the name is a word of two
    to four names, as `batch` is of `global_batch`, it suggests all of these."""
    known = list(names)
    name = name[:_LONGEST]
    with_it = [right for right in known if name in right.split("_")]
    very_near = difflib.get_close_matches(name, known, n=1, cutoff=_VERY_NEAR)
    if not very_near and 1 < len(with_it) <= _MOST_WITH_IT:
        return f"; did you mean {', '.join(with_it[:-1])} or {with_it[-1]}?"
    same = [right for right in known if right.lower() == name.lower()]
    near = (
        same
        or difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        or [right for right in known if len(name) > 1 and right.startswith(name)]
    )
    return f"; did you mean {near[0]}?" if near else ""


def near_or_all(name: str, names: Iterable[str]) -> str:
    """The same, or a list of all names if none is near."""
    known = list(names)
    more = f" and {len(known) - _MOST_SHOWN:,} more" if len(known) > _MOST_SHOWN else ""
    return did_you_mean(name, known) or f"; there are {', '.join(known[:_MOST_SHOWN])}{more}"
