"""Text that is not trusted as LaTeX: every engine reads it as these characters and nothing else.

The document that takes the table has its own encoding of fonts, so that only ASCII and commands that every LaTeX has
are written. Latin letters with accents are composed; what else is beyond ASCII, a name from right to left or an emoji,
is replaced by its number in Unicode.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from analysis.plain import cell

_SPECIAL = {
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    # By their places, which every typewriter font has: the commands for them take fonts from elsewhere.
    **{character: rf"\char{ord(character)}{{}}" for character in '\\{}$~^<>|"`'},
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "÷": r"\ensuremath{\div}",
    "µ": r"\ensuremath{\mu}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "·": r"\ensuremath{\cdot}",
    "\u00a0": r"~",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "å": r"\aa{}",
    "Å": r"\AA{}",
}
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030b": "H",
    "\u030c": "v",
    "\u0327": "c",
}
"""Combining character -> the command that sets it over a letter."""


def escaped(text: str) -> str:
    written = "".join(map(_character, text))
    return re.sub("([-',])(?=\\1)", r"\1{}", written)  # two hyphens would be a dash, two quotes another sign


def typewriter(text: str) -> str:
    """A name; nothing where it is empty."""
    return f"\\texttt{{{escaped(cell(text))}}}" if text else ""


def label(session_id: str) -> str:
    """For \\ref: `tab:20261121T014925Z-smoke-3f9a`; where the name has other characters, with a hash of the whole."""
    safe = re.sub(r"[^A-Za-z0-9.-]", "-", session_id)[:80]
    return f"tab:{safe}" if safe == session_id else f"tab:{safe}-{_digest(session_id)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii() or character in ("\ue000", "\ue001"):
        return character
    return _composed(character) or f"[U+{ord(character):04X}]"


def _composed(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    if len(parts) != 2 or not parts[0].isascii() or not parts[0].isalpha() or parts[1] not in _ACCENTS:
        return ""
    return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
