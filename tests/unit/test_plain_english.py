"""Words and phrases that make a sentence hard to read are in no page, message, docstring or comment."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HARD = {
    "hang on": (r"\b(hang|hangs|hung|hanging) on\b", "depend on"),
    "held against": (r"\b(held|hold|holds|holding) (\w+ ){0,3}against\b", "compare with"),
    "mend": (r"\bmend(s|ed|ing)?\b", "fix"),
    "anew": (r"\banew\b", "again, rebuilt"),
    "told from": (r"\b(told|tell|tells|telling) (\w+ ){0,2}from\b", "distinguish from"),
    "stands in": (r"\b(stand|stands|stood|standing) (in|at|there|beside|before|on)\b", "is in"),
    "lies in": (r"\b(lie|lies|lay|lying) (in|at|on|under|there|beside)\b", "is in"),
    "do without": (r"\b(do|does|did) without\b", "does not need"),
    "whatever": (r"\bwhat(so)?ever\b", "name the thing"),
    "is well": (r"\b(is|are) well\b(?! (known|below|above|within|beyond|under|over|outside))", "is fine"),
    "anybody": (r"\b(any|some|no|every)body\b", "anyone, others, no one"),
    "beside": (r"\bbeside\b", "next to, with"),
    "so many": (r"\bso many\b", "N"),
    "one's own": (r"\bone's own\b", "custom, your own"),
    "Of …": (r"(^|[.:;] |\"\"\"|-- |# )Of (?!course)[a-z]", "begin with the subject"),
    "What …": (
        r"(^|\. |\"\"\"|-- )What (?!is|are|does|do|did|was|were|would|should|can|to|changed)[a-z][^?]*$",
        "name the thing",
    ),
}
"""Phrase: the pattern that finds it, and what to write instead."""
SPOKEN = ("*.md", "*.py", "*.sql", "*.sh", "*.yaml", "ci/*", "Containerfile", "*.def")
QUOTES = {"tests/unit/test_plain_english.py", "tests/unit/diagnosis/planted/fragmentation.py"}
"""This list, and a message of PyTorch."""


@functools.cache
def _lines() -> list[tuple[str, int, str]]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *SPOKEN]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [
        (name, number, line.strip())
        for name in listed
        if name not in QUOTES and (ROOT / name).is_file()
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
    ]


@pytest.mark.parametrize("phrase", HARD)
def test_no_hard_phrase_is_used(phrase: str) -> None:
    pattern, instead = HARD[phrase]
    found = re.compile(pattern)
    places = [f"{name}:{number}: {line}" for name, number, line in _lines() if found.search(line)]
    assert places == [], f"write instead: {instead}"
