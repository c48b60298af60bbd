"""Text as programs print it on a terminal: colours, and the labels that launchers put before a line."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, positions
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|[ -/]*[0-~])"
)
_LABEL = re.compile(
    r"""(?:
        \[\d{1,7},\d{1,7}\](?:\[[^\]\s]{1,200}\])?<std(?:out|err|diag)>:?  # mpirun of Open MPI 4, with a time or not
      | \[[^\]\s]{1,200}@\d{1,7},\d{1,7}\](?:<std(?:out|err|diag)>)?:?     # mpirun of Open MPI 5
      | \[(?:[A-Za-z_]{1,20})?\d{1,7}\]:?                                  # mpiexec of MPICH, torchrun
      | \ {0,7}\d{1,7}:                                                    # srun --label, whose numbers are padded
    )\ ?""",
    re.VERBOSE,
)


def without_colours(text: str) -> str:
    """The text without the escape sequences of a terminal."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def without_label(line: str) -> str:
    """The line without the label of the rank that printed it: `0: `, `[rank0]:`, `[1,0]<stdout>:`."""
    label = _LABEL.match(line)
    return line[label.end() :] if label else line
