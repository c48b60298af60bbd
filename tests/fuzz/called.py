"""Run a command of `bench` in this process; return its output and how it ended."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple
from unittest import mock

import bench.cli
from tests.fuzz.limits import ends

_DRAWS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters of a terminal."""


class Called(NamedTuple):
    """An exception that gets out is a defect: `bench` would show a traceback."""

    code: int
    out: str
    err: str


def called(*arguments: str, codes: Sequence[int] = (0, 2)) -> Called:
    """Raises exceptions that `bench` does not turn into an exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "argv", ["bench", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        ends(),
    ):
        code = bench.cli.run_command()
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    assert code in codes, said[1]
    assert bool(said[1].strip()) or code != 2, "an error says something"
    assert not _DRAWS.search(said[1]), said[1]
    return Called(code, *said)
