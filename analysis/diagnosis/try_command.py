"""The command that tries a finding's remedy: the session's own command with the options that the remedy adds."""

from __future__ import annotations

import glob
import re
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
_CASE_OF_RUN = "command"
"""The only case of a session of `bench run`."""
_MEASURE = re.compile(r"(?:cases[.]command[.])?measure[.](\w+)=(.*)")
_MEASURE_OF_RUN = {
    "warmup": "--warmup", "steps": "--steps", "repeats": "--repeats", "timeout_s": "--timeout",
}  # fmt: skip
"""Settings that are options of `bench run`."""

Option = tuple[str, ...]
"""An option and its value, a flag or another word."""


def command(session: Row, options: str | None, cases: Iterable[str] = ()) -> str | None:
    """One line for a shell that adds `options`; None if they are empty, or if the session's command has no such ones.

    `session` is a row of the table sessions, `cases` the names of its cases. Only the cases that the remedy changes,
    and their baselines, run again."""
    names = {name.partition("~")[0] for name in cases}
    words = list(session["command"] or [])
    at = _begin_of_command(words, names)
    words, program = words[:at], words[at:]
    program = program[1:] if program[:1] == ["--"] else program
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
    if program and not resumes:
        added = [_of_run(option) for option in added]
    if not added or session["imported"] is not None or not is_of_a_suite or () in added:
        return None
    added = [*_only(added, names), *added]
    if resumes:  # the plan, which names the suite or the command, is stored
        kept = [option for option in own if option[0] == "--results"]
    else:
        suite = [] if named or program else [(session["suite"],)]
        kept = [*suite, *(option for option in own if not _is_dropped(option, added))]
    measured_by = "run" if program else "suite"
    measured = ["--", *program] if program and not resumes else []
    return shlex.join(["bench", measured_by, *_words(kept), *_words(added), *measured])


def _begin_of_command(words: Sequence[str], names: Set[str]) -> int:
    """The place of a user's command, or of the dashes before it; the number of words if there is none.

    Before `bench suite` had its own name, `bench run` ran suites, too."""
    if words[1:2] != ["run"]:
        return len(words)
    if "--" in words:
        return words.index("--")
    at = 2
    for option in _options(words[2:]):
        if _is_the_suite(option) and names == {_CASE_OF_RUN}:
            return at
        at += len(option) if "=" not in words[at] or option[0] in FLAGS else 1
    return len(words)


def _of_run(option: Option) -> Option:
    """The option as `bench run` has it; empty if only a suite has such a setting."""
    setting = _MEASURE.fullmatch(option[1]) if option[0] == "--set" and len(option) > 1 else None
    if setting is None:
        return option if option[0] == "--repeats" else ()
    name = _MEASURE_OF_RUN.get(setting[1])
    return (name, setting[2]) if name else ("--set", f"measure.{setting[1]}={setting[2]}")


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
