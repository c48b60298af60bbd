"""On a results folder full of odd texts, any command gives an answer or one error, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.loading.load import load
from tests.factory import Case, make_session
from tests.fuzz.called import called
from tests.fuzz.mutation import ODD_TEXTS
from tests.poisoned import PAYLOADS, poison

CASES = ("=1+1", "\\input{x}\x1b[31m", "a:b,c\nd", "'\"")
TEXTS = (*PAYLOADS, "\x1b]0;x\x07\n", "--out", "\\write18{touch ran}", "\u202e", "x" * 10_000)
SESSIONS = ("one", "--help")
NAMES = st.one_of(
    st.sampled_from(
        [*SESSIONS, *CASES, *TEXTS, *(f"one:{name}" for name in CASES), "one,--help", "tag:a", "tag:"]
    ),
    st.sampled_from(ODD_TEXTS).filter(lambda text: "\ud800" not in text),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
QUERIES = st.one_of(
    st.sampled_from(
        ["FROM scaling", "FROM sessions", "FROM runs", "SELECT 1; SELECT 2", "SELECT '\x1b'", "SHOW TABLES"]
    ),
    NAMES,
)
FORMATS = st.sampled_from(["csv", "json", "latex", "markdown", "x"])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands") / "results"
    cases = [Case(name=name, step_ms={1: 50.0, 2: 40.0}, jitter=0.02) for name in CASES]
    for session in SESSIONS:
        made = make_session(folder, cases, session_id=session, tags=["a", "b"])
        poison(made, lambda number: TEXTS[number % len(TEXTS)])
    assert load(folder).problems == ()
    return folder


@st.composite
def asked(draw: st.DrawFn) -> list[str]:
    """A command and its words; any option may come before them."""
    name = draw(st.sampled_from(["compare", "history", "export", "summary", "sql", "direct"]))
    match name:
        case "compare":
            words = ["--format", draw(st.sampled_from(["table", "markdown", "json", "csv"])), "--"]
            return [name, *words, draw(NAMES), draw(NAMES)]
        case "export":
            view = [f"--view={draw(NAMES)}"] if draw(st.booleans()) else []
            return [name, f"--format={draw(FORMATS)}", *view, "--", draw(NAMES)]
        case "sql":
            return [name, "--format", draw(st.sampled_from(["table", "csv", "json"])), "--", draw(QUERIES)]
        case "direct":
            chosen = [f"--session={draw(NAMES)}"] if draw(st.booleans()) else [f"--suite={draw(NAMES)}"]
            return ["sql", "--direct", *chosen, "--", draw(QUERIES)]
        case _:
            return [name, "--", draw(NAMES)]


@settings(max_examples=15)
@given(words=asked())
def test_a_question_of_odd_words_is_answered_or_refused(
    results: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(results.parent)
    before = sorted(results.parent.rglob("*"))
    name, *others = words
    done = called(name, f"--results={results}", *others, codes=(0, 1, 2, 3))
    assert sorted(results.parent.rglob("*")) == before
    assert done.code != 2 or not done.out
