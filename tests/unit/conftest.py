"""A results folder for tests that call many commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.loading.load import load
from tests.factory import Case, make_session


@pytest.fixture(scope="session")
def three_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions `old-x`, `mid-x` and `new-x` of the suite smoke, a day apart, loaded; the oldest has the tag `t`."""
    folder: Path = tmp_path_factory.mktemp("three_days") / "r"
    for number, name in enumerate(("old-x", "mid-x", "new-x")):
        head = {"created_at": f"2026-01-0{number + 1}T00:00:00+00:00"}
        session = make_session(folder, [Case(name="ddp", step_ms={1: 9.0, 2: 5.0})], session_id=name)
        text = (session / "session.json").read_text()
        (session / "session.json").write_text(json.dumps(json.loads(text) | head | {"tags": ["t"][number:]}))
    load(folder)
    return folder
