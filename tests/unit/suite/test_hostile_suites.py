"""What fuzzing found about suites, one plain test each: an error that names the place, in place of a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import InputError
from bench.suite.resolve import load_suite


def refused(folder: Path, content: str | bytes) -> str:
    """What is said of a suite file."""
    path = folder / "mine.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as raised:
        load_suite(str(path))
    return str(raised.value).replace(str(folder), "")


@pytest.mark.parametrize(("text", "shown"), [("hello", '"hello"'), ("- 1", "[1]"), ("12", "12")])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, shown: str) -> None:
    assert refused(tmp_path, text) == f"/mine.yaml:1:1: the suite is {shown}: it must be a mapping"
