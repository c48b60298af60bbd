"""What of a finding's evidence and advice a terminal shows: the report has all of it."""

from __future__ import annotations

import re
import shlex

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`])")
_CLAUSE = re.compile(r"; (?![^(]*\))")
"""Between two of them; not within brackets."""
_MOST = 190
"""Characters of evidence: two lines."""
_CAUTION = re.compile(
    r"\b(?:may need|careful|changes? (?:what|the)|another learning rate|learning rate then)\b", re.I
)


def evidence(said: str) -> str:
    """Its first sentence; of a long one as many clauses as fit, but the first."""
    first, *clauses = _CLAUSE.split(_SENTENCE.split(said)[0])
    for clause in clauses:
        if len(first) + len(clause) + 2 > _MOST:
            break
        first += f"; {clause}"
    return first


def advice(said: str, knob: str | None) -> str:
    """Its first sentence, any that names what the knob sets, and any caution."""
    values = [value for word in _words(knob) if (value := word.rpartition("=")[2])]
    first, *others = _SENTENCE.split(said)
    kept = [
        sentence
        for sentence in others
        if _CAUTION.search(sentence)
        or any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", sentence) for value in values)
    ]
    return " ".join([first, *kept])


def _words(knob: str | None) -> list[str]:
    try:
        return [word for word in shlex.split(knob or "") if not word.startswith("--")]
    except ValueError:  # a quotation mark without its fellow, in a rule of one's own
        return []
