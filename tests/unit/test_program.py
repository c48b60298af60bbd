"""How the commands that the program advises begin."""

from __future__ import annotations

import pytest

from bench.common.paths import called


@pytest.mark.parametrize(
    ("found", "python", "argument", "said"),
    [
        ("/usr/bin/bench", "python", "x/bench", "bench"),
        (None, "python", "my env/bin/bench", "'my env/bin/bench'"),
        (None, ".venv/bin/python", "/x/bench/__main__.py", ".venv/bin/python -m bench"),
    ],
)
def test_it_is_bench_where_a_shell_finds_it_and_else_what_was_called(
    found, python, argument, said, monkeypatch
):
    monkeypatch.setattr("shutil.which", lambda name: found)
    monkeypatch.setattr("sys.argv", [argument])
    monkeypatch.setattr("sys.orig_argv", [python, "-m", "bench"])
    assert called() == said
