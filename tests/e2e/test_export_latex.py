"""The LaTeX tables of bench export compile: the real command line writes them, and pdflatex sets each as a
document."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.loading.load import load
from tests.e2e.processes import OneProcess
from tests.factory import Case, make_session

PRINTABLE = "".join(map(chr, range(126, 32, -1))).replace("/", "")
NAMES = (
    PRINTABLE.replace("\\", ""),
    PRINTABLE.translate(dict.fromkeys(map(ord, "[*?"))),
    "[x] *y*",
    "שלום\u202e\u200f",
    "日本語 😀 é ñ ł ß µ",
    "an \\input{x}",
    "--,,''``",
    "end\\",
    "%",
    " ",
)
HOSTILE = "we%rd_{$&#~^ \u05d0"
"""A session's name."""
DOCUMENT = r"""\documentclass{article}
PACKAGES\begin{document}
\input{table}
Table~\ref{LABEL}.
\end{document}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("latex")
    steps = {1: [362.0, 362.45, 363.0], 4: [95.0, 95.23, 95.5], 8: 57.14}
    failed = {(8, 2): "oom"}
    make_session(folder, [Case(name="ddp_strong", step_ms=steps, statuses=failed)], session_id="ordinary")
    hostile = [Case(name=name, step_ms={1: 3.0, 2: 2.0}, steps=2, repeats=1) for name in NAMES]
    make_session(folder, hostile, session_id=HOSTILE, suite="a_b%")
    bad = Case(name="bad", step_ms={1: 3.0}, repeats=1, statuses={(1, 0): "failed"})
    make_session(folder, [bad], session_id="failures")
    many = [Case(name=f"case_{number}", step_ms={1: 3.0}, repeats=1, steps=2) for number in range(120)]
    make_session(folder, many, session_id="many")
    load(folder)
    return folder


@pytest.mark.parametrize(
    ("session", "packages"),
    [
        ("ordinary", ""),
        (HOSTILE, ""),
        (HOSTILE, r"\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}"),
        ("failures", ""),
        ("many", ""),
    ],
)
def test_a_table_compiles(
    session: str,
    packages: str,
    results: Path,
    tmp_path: Path,
    require_program: Callable[[str], str],
    one_process: OneProcess,
) -> None:
    pdflatex = require_program("pdflatex")
    done = one_process.run("export", session, "--format", "latex", "--results", str(results))
    assert done.returncode == 0, done.stderr
    table = done.stdout
    (tmp_path / "table.tex").write_text(table)
    (needed,) = [line for line in table.splitlines() if line.startswith("% In the preamble: ")]
    label = table.partition("\\label{")[2].partition("}")[0]
    packages += needed.removeprefix("% In the preamble: ") + "\n"
    (tmp_path / "paper.tex").write_text(DOCUMENT.replace("PACKAGES", packages).replace("LABEL", label))
    call = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "paper"]
    for _ in range(2):  # the second run knows the label
        compiled = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert compiled.returncode == 0, compiled.stdout[-2000:]
    log = (tmp_path / "paper.log").read_text(errors="replace")
    assert "undefined references" not in log
    assert "Missing character" not in log
    if session == "ordinary":
        assert "Overfull" not in log
