"""bench export --format markdown: what people read in merge requests."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from tests.unit.analysis.export.conftest import FAILURES, HOSTILE, MANY, NAMES, ORDINARY

PROVENANCE = "session `ordinary`, suite `smoke`, on `cpu`, PyTorch `2.15.0`, 2026-11-21 01:49 UTC"


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_a_session_of_failures_says_why(export, form):
    written = export(FAILURES, "--format", form).stdout
    assert "No run of this session is ok, so there is no speedup to report." in written
    assert "RuntimeError: broken" in written
    assert "CUDA out of memory" in written


@pytest.mark.parametrize("session", [ORDINARY, HOSTILE, FAILURES, MANY])
def test_a_markdown_table_has_the_same_number_of_cells_in_every_line(export, session):
    lines = export(session, "--format", "markdown").stdout_bytes.decode().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert len({cell_len(line) for line in table}) == 1
    assert re.fullmatch(r"\|( -+:? \|)+", table[1])


def test_markdown_has_the_figures_of_the_summary_and_where_they_come_from(export):
    written = export(ORDINARY, "--format", "markdown").stdout
    assert written.startswith("**`ddp` on 8 ranks is 6.34 times as fast as on 1 rank")
    assert re.search(r"\| `ddp` +\| +4 \| +1 \| +672 \| +3\.81 \| 95\.1 % \[94", written)
    assert "- `ddp` 1x8: 1 oom: `CUDA out of memory`\n" in written
    assert written.splitlines()[-1] == PROVENANCE


def test_names_in_markdown_are_code_and_never_markup(export):
    written = export(HOSTILE, "--format", "markdown").stdout_bytes.decode()
    without_code = re.sub(r"<code>[^<>`|\\]*</code>|`[^`|\\]*`", "", written)
    for sign in ("@me", "<b>", "](y)", "`", "\\", "mmm", "$"):
        assert sign not in without_code
    assert "<code>&#61;1&#43;1&#124;x&#96;y&#92;</code>" in written  # =1+1|x`y\
    assert "`<b>&amp;<∕b>`" in written
    assert re.search(
        r"- 1 of 3 runs of (`[^`]+`|<code>[^<]+</code>) 1x2 took over 1\.2 times the median run", written
    )
    assert len(NAMES) == 6


def test_values_are_rounded_as_the_summary_rounds_them(export):
    """0.9516 with an interval from 0.9427 to 0.9607 has three digits in every format."""
    for form, shown in (("markdown", "95.1 % [94."), ("latex", r"95.1 \% [94.")):
        assert shown in export(ORDINARY, "--format", form).stdout
