"""The command that tries a finding's remedy: the one that the session was run with, and what the remedy adds to it."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterable, Iterator, Sequence, Set

from analysis.fetched import Row

FLAGS = frozenset(
    {
        "--quick",
        "--oversubscribe",
        "--trace",
        "--selfcheck",
        "--no-selfcheck",
        "--no-load",
        "--dry-run",
        "--json",
    }
)
"""Options of `bench suite` without a value."""
_OF_THE_SESSION = frozenset(
    {"--session", "--resume", "--tag", "--reserve", "--no-load", "--dry-run", "--json"}
)
"""What made of the suite this very session: another one is neither to go on with it nor to pass for it."""

Option = tuple[str, ...]
"""An option and its value, a flag or another word."""


def command(session: Row, knob: str | None, cases: Iterable[str] = ()) -> str | None:
    """One line for a shell; null where there is nothing to add, or the session was not run here. `session` is a row of
    the table sessions, `cases` the names of its cases: only those that the remedy changes run again, with what they are
    compared with."""
    words = session["command"] or []
    try:
        added = list(_options(shlex.split(knob or "")))
    except ValueError:  # a quotation mark without its fellow, in a rule of one's own
        return None
    if not added or session["imported"] is not None or words[1:2] != ["suite"]:
        return None
    added = [*_only(added, {name.partition("~")[0] for name in cases}), *added]
    own = list(_options(words[2:]))
    if any(option[0] == "--resume" for option in added):  # it has its plan, its suite among it
        kept = [option for option in own if option[0] == "--results"]
    else:
        named = [] if any(_is_the_suite(option) for option in own) else [(session["suite"],)]
        kept = [*named, *(option for option in own if not _goes(option, added))]
    return shlex.join(["bench", "suite", *_words(kept), *_words(added)])


def _options(words: Sequence[str]) -> Iterator[Option]:
    rest = iter(words)
    for word in rest:
        name, is_whole, value = word.partition("=")
        if not word.startswith("--") or word in FLAGS:
            yield (word,)
        elif is_whole:
            yield name, value
        else:
            yield word, *[value for value in [next(rest, None)] if value is not None]


def _only(added: Sequence[Option], names: Set[str]) -> Iterator[Option]:
    """Of several cases those that are set, where nothing else is; --case takes their baselines of itself."""
    settings = [option[1] for option in added if option[0] == "--set" and len(option) > 1]
    changed = [_case_of(setting, names) for setting in settings]
    if len(names) > 1 and len(settings) == len(added) and None not in changed:
        yield from (("--case", glob.escape(name)) for name in dict.fromkeys(changed) if name)


def _case_of(setting: str, names: Set[str]) -> str | None:
    """The name of the case whose key this sets; a name may contain a dot."""
    return max((name for name in names if setting.startswith(f"cases.{name}.")), key=len, default=None)


def _is_the_suite(option: Option) -> bool:
    return len(option) == 1 and not option[0].startswith("--")


def _goes(option: Option, added: Iterable[Option]) -> bool:
    """Whether it was of the session alone, or the remedy says otherwise."""
    return option[0] in _OF_THE_SESSION or any(_key(option) == _key(other) for other in added)


def _key(option: Option) -> Option:
    """Of --set, what is set."""
    name, *values = option
    return (name, values[0].partition("=")[0]) if name == "--set" and values else (name,)


def _words(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        yield from option
