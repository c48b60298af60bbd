"""Untrusted text as LaTeX: every engine reads it as these characters and nothing else.

The document that includes the table sets its own font encoding, so the output has only ASCII and commands that every
LaTeX has. Any other character, such as an emoji or a right-to-left letter, becomes its number in Unicode.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

from pylatexenc.latexencode import (
    RULE_DICT,
    UnicodeToLatexConversionRule,
    UnicodeToLatexEncoder,
    get_builtin_uni2latex_dict,
)

from analysis.wording.plain_text import printable

OPEN, CLOSE = "\ue000", "\ue001"
"""Mark a name in a sentence. No name contains these private characters, because `printable` writes them out."""
_OWN = {
    # By code, in typewriter: other fonts have other characters in these places, unless the document chooses T1.
    **{character: rf"\texttt{{\char{ord(character)}}}" for character in '\\{}$~^<>|"`'},
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "÷": r"\ensuremath{\div}",
    "µ": r"\ensuremath{\mu}",
    "·": r"\ensuremath{\cdot}",
    OPEN: r"\texttt{",
    CLOSE: "}",
}
_EVERYWHERE = re.compile(
    r"""\\[&#%_]|~|\\[`'^"~=.](?:[A-Za-z]|\\[ij]|\{[A-Za-z]\})|\\[uvHcr]\{(?:[A-Za-z]|\\[ij])\}"""
    r"|\\(?:ss|ae|AE|oe|OE|o|O|l|L|i|j)|\\text(?:endash|emdash|ellipsis|quoteleft|quoteright|quotedblleft|quotedblright)"
)
"""Commands of the library's table that need no package and no font encoding."""


@cache
def _encoder() -> UnicodeToLatexEncoder:
    known = {
        place: written
        for place, written in get_builtin_uni2latex_dict().items()
        if _EVERYWHERE.fullmatch(written)
    }
    rules = known | {ord(character): written for character, written in _OWN.items()}
    return UnicodeToLatexEncoder(
        conversion_rules=[UnicodeToLatexConversionRule(RULE_DICT, rules)],
        replacement_latex_protection="braces-after-macro",
        unknown_char_policy=lambda character: f"[U+{ord(character):04X}]",
        unknown_char_warning=False,
    )


def escaped(text: str) -> str:
    written = _encoder().unicode_to_latex(text)
    return re.sub("([-',])(?=\\1)", r"\1{}", written)  # else two hyphens become a dash


def marked(name: str) -> str:
    """Mark a name within a sentence; `escaped` sets it in typewriter."""
    return f"{OPEN}{printable(name)}{CLOSE}"


def typewriter(text: str) -> str:
    """A name in typewriter; empty if the name is."""
    return escaped(marked(text)) if text else ""


def label(session_id: str) -> str:
    """For \\ref: `tab:20261121T014925Z-smoke-3f9a`; with a hash of the id if it has other characters or is too long."""
    safe = re.sub(r"[^A-Za-z0-9.-]", "-", session_id)[:80]
    if safe == session_id:
        return f"tab:{safe}"
    return f"tab:{safe}-{hashlib.sha256(session_id.encode()).hexdigest()[:8]}"
