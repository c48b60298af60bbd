"""One way to name a session, for every command that takes one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli import group
from bench.common.errors import InputError
from bench.records.session_names import UnknownSessionError, sessions_named
from bench.session.find_session import find_session

TAGS = {
    "20260103T-smoke-aa": ["main", "b:c"],
    "20260102T-smoke-bb": [],
    "20260101T-mine-cc": ["main"],
    "nightly": [],
}
"""The newest first."""


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("nightly", ["nightly"]),
        ("n", ["nightly"]),
        ("20260102", ["20260102T-smoke-bb"]),
        ("@latest", ["20260103T-smoke-aa"]),
        ("@-0", ["20260103T-smoke-aa"]),
        ("@-3", ["nightly"]),
        ("tag:main", ["20260103T-smoke-aa", "20260101T-mine-cc"]),
        ("tag:b:c", ["20260103T-smoke-aa"]),
    ],
)
def test_a_session_has_these_names(said: str, found: list[str]) -> None:
    assert sessions_named(said, TAGS) == found


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("2026", "'2026' begins 3 sessions: 20260103T-smoke-aa, 20260102T-smoke-bb, 20260101T-mine-cc: write more"),
        ("nihgtly", "no session 'nihgtly': did you mean nightly?"),
        ("zzz", "no session 'zzz'; the newest are 20260103T-smoke-aa, 2026"),
        ("@-4", "no session @-4: there are 4 sessions"),
        ("@newest", "no session '@newest'"),
        ("tag:x", "no session has the tag 'x'; tags in use: b:c, main"),
        (" ", "the name of a session is empty"),
    ],
)  # fmt: skip
def test_a_wrong_name_gets_the_candidates_and_the_command_that_lists_all(said: str, message: str) -> None:
    with pytest.raises(UnknownSessionError) as raised:
        sessions_named(said, TAGS)
    assert str(raised.value).startswith(message)
    assert "`bench sessions`" in str(raised.value) or said == " "


def test_an_id_is_preferred_to_ids_that_it_begins() -> None:
    assert sessions_named("a", {"ab": [], "a": []}) == ["a"]


def call(*arguments: str, results: Path) -> Result:
    return CliRunner().invoke(group, [*arguments, "--results", str(results)])


COMMANDS = (
    ["summary"],
    ["export", "--format", "csv"],
    ["compare", "mid-x"],
    ["report", "--out", "public"],
    ["suite", "--resume"],
    ["sql", "--direct", "SELECT session_id FROM sessions", "--session"],
)
"""The name of a session is the last argument."""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("said", ["nothing", "tag:none", "@-7"])
def test_every_command_refuses_a_wrong_name(
    command: list[str], said: str, three_days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(*command, said, results=three_days)
    assert "no session" in str(done.exception)
    assert "`bench sessions`" in str(done.exception)
    assert getattr(done.exception, "exit_code", None) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize(("said", "session"), [("@latest", "new-x"), ("old", "old-x"), ("tag:t", "old-x")])
def test_every_command_finds_the_named_session(
    command: list[str],
    said: str,
    session: str,
    three_days: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(*command, said, results=three_days)
    written = " ".join(path.name for path in tmp_path.rglob("*"))
    assert session in f"{done.output} {written} {done.exception}"


def test_sessions_are_found_without_a_database(three_days: Path) -> None:
    assert find_session(three_days, "@-1") == "mid-x"
    with pytest.raises(InputError, match="no session 'x'"):
        find_session(three_days, "x")
