"""Suites in files, as a user has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.analysis.conftest import empty

__all__ = ["empty"]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """`write(text)`: the name of a file in the current folder with that text."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> str:
        Path("s.yaml").write_text(text)
        return "s.yaml"

    return write
