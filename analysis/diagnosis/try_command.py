"""The command that tries a finding's remedy: the session's own command with the options that the remedy adds."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterable, Iterator, Sequence, Set

from analysis.database.rows import Row

FLAGS = frozenset(
    {
        *("--quick", "--oversubscribe", "--trace", "--selfcheck", "--no-selfcheck", "--isolate", "--no-load"),
        *("--dry-run", "--json"),
    }
)
"""Options of `bench suite` without a value."""
_NOT_REPEATED = frozenset(
    {"--session", "--resume", "--tag", "--reserve", "--no-load", "--dry-run", "--json", "--format"}
)
"""Options that a new session does not repeat."""

Option = tuple[str, ...]
"""An option and its value, a flag or another word."""


def command(session: Row, options: str | None, cases: Iterable[str] = ()) -> str | None:
    """One line for a shell that adds `options`; None if they are empty, or if the session is not of a suite and they do
    not resume it.

    `session` is a row of the table sessions, `cases` the names of its cases. Only the cases that the remedy changes,
    and their baselines, run again."""
    words = session["command"] or []
    is_of_a_command = "--" in words
    if is_of_a_command:
        words = words[: words.index("--")]
    try:
        added = list(_options(shlex.split(options or "")))
    except ValueError:  # an unbalanced quotation mark in a custom rule
        return None
    own = list(_options(words[2:]))
    named = [option[0] for option in own if _is_the_suite(option)]
    is_of_a_suite = words[1:2] in (["suite"], ["run"]) and all(
        word == session["suite"] or word.endswith((".yaml", ".yml")) for word in named
    )
    resumes = any(option[0] == "--resume" for option in added)
    if not added or session["imported"] is not None or not is_of_a_suite or (is_of_a_command and not resumes):
        return None
    added = [*_only(added, {name.partition("~")[0] for name in cases}), *added]
    if resumes:  # the plan, which names the suite or the command, is stored
        kept = [option for option in own if option[0] == "--results"]
    else:
        suite = [] if named else [(session["suite"],)]
        kept = [*suite, *(option for option in own if not _is_dropped(option, added))]
    measured_by = "run" if is_of_a_command and words[1] == "run" else "suite"
    return shlex.join(["bench", measured_by, *_words(kept), *_words(added)])


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
    """--case for each changed case if the remedy changes nothing else; --case includes their baselines."""
    settings = [option[1] for option in added if option[0] == "--set" and len(option) > 1]
    changed = [_case_of(setting, names) for setting in settings]
    if len(names) > 1 and len(settings) == len(added) and None not in changed:
        yield from (("--case", glob.escape(name)) for name in dict.fromkeys(changed) if name)


def _case_of(setting: str, names: Set[str]) -> str | None:
    """The name of the case whose key this sets; a name may contain a dot."""
    return max((name for name in names if setting.startswith(f"cases.{name}.")), key=len, default=None)


def _is_the_suite(option: Option) -> bool:
    return len(option) == 1 and not option[0].startswith("--")


def _is_dropped(option: Option, added: Iterable[Option]) -> bool:
    """Whether to omit the option: a new session does not repeat it, or the remedy replaces it."""
    return option[0] in _NOT_REPEATED or any(_key(option) == _key(other) for other in added)


def _key(option: Option) -> Option:
    """The key that identifies the option: its name, and for --set also the setting, which --repeats changes, too."""
    name, *values = option
    if name == "--repeats":
        return "--set", "measure.repeats"
    return (name, values[0].partition("=")[0]) if name == "--set" and values else (name,)


def _words(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        yield from option
