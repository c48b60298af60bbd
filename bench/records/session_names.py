"""How a user names a session: its id, the beginning of the id, tag:NAME, @latest, or @-1 for the one before."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence

TAG = "tag:"
HOW = "its id, the beginning of the id, tag:NAME, @latest, or @-1 for the one before"
NONE_YET = "there is no session yet: `bench suite smoke` measures one, `bench load` loads existing ones"
_BY_AGE = re.compile(r"@(?:latest|-(?P<before>\d{1,9}))")
_MOST_LISTED = 5
_SIMILAR = 0.5
"""Least similarity of two names for a suggestion."""


class UnknownSessionError(LookupError):
    """No session has that name, or several begin with it; the message lists candidates and says what to do."""


def sessions_named(said: str, tags: Mapping[str, Collection[str]]) -> list[str]:
    """Ids of the sessions with that name, the newest first; only a tag may name several.

    `tags` holds the tags of every session by its id, the newest session first. Raises UnknownSessionError."""
    known = list(tags)
    if said in tags:
        return [said]
    if not said.strip():
        raise UnknownSessionError(f"the name of a session is empty: give {HOW}")
    if said.startswith(TAG):
        return _with_tag(said.removeprefix(TAG), tags)
    if by_age := _BY_AGE.fullmatch(said):
        return [_of_age(said, int(by_age["before"] or 0), known)]
    begin_so = [name for name in known if name.startswith(said)]
    if len(begin_so) > 1:
        raise UnknownSessionError(
            f"{said!r} begins {len(begin_so):,} sessions: {_listed(begin_so)}: write more of it, or see all with "
            "`bench sessions`"
        )
    if not begin_so:
        raise UnknownSessionError(f"no session {said!r}{_suggestion(said, known)}")
    return begin_so


def _with_tag(tag: str, tags: Mapping[str, Collection[str]]) -> list[str]:
    found = [name for name, own in tags.items() if tag in own]
    if not found:
        used = sorted({one for own in tags.values() for one in own})
        raise UnknownSessionError(
            f"no session has the tag {tag!r}; tags in use: {_listed(used) if used else 'none'}; `bench sessions` lists "
            "all sessions"
        )
    return found


def _of_age(said: str, before: int, known: Sequence[str]) -> str:
    if not known:
        raise UnknownSessionError(f"no session {said}: {NONE_YET}")
    if before >= len(known):
        there_are = f"there are {len(known):,} sessions" if len(known) > 1 else "there is one session"
        raise UnknownSessionError(f"no session {said}: {there_are}; `bench sessions` lists them")
    return known[before]


def _suggestion(said: str, known: Sequence[str]) -> str:
    if not known:
        return f": {NONE_YET}"
    # of equally similar names max takes the first, the newest
    near = max(known, key=lambda name: _similarity(said, name))
    is_near = _similarity(said, near) >= _SIMILAR
    if len(known) == 1 and not is_near:
        return f"; the only session is {near}"
    there_are = f": did you mean {near}?" if is_near else f"; the newest are {_listed(known)};"
    return f"{there_are} `bench sessions` lists all {len(known):,}"


def _similarity(said: str, name: str) -> float:
    """Similarity, from 0 to 1, of the text and the name or its most similar part (date, suite, last digits)."""
    said = said[:200]  # the time grows with the square
    return max(difflib.SequenceMatcher(None, said, part).ratio() for part in (name, *name.split("-")))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
    return f"{', '.join(names[:_MOST_LISTED])}{more}"
