"""Find the session of a results folder that a user names, without a database."""

from __future__ import annotations

from pathlib import Path

from bench.common.errors import InputError
from bench.common.files import read_json
from bench.records.session_names import UnknownSessionError, sessions_named


def find_session(results: Path, said: str) -> str:
    """The id of the session with this name; of a tag, of the newest session with it. Raises InputError."""
    try:
        return sessions_named(said, _tags(results))[0]
    except UnknownSessionError as error:
        raise InputError(f"{results}: {error}") from None


def _tags(results: Path) -> dict[str, list[str]]:
    """Session id -> its tags, the newest session first. A folder whose session.json cannot be read is the oldest."""
    found = []
    for path in results.glob("[!.]*/session.json"):
        try:
            head = read_json(path)
            began, tags = str(head["created_at"]), [str(tag) for tag in head["tags"]]
        except (OSError, ValueError, KeyError, TypeError):
            began, tags = "", list[str]()
        found.append((began, path.parent.name, tags))
    return {name: tags for _, name, tags in sorted(found, reverse=True)}
