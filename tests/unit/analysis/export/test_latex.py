"""bench export --format latex: a table of ASCII and commands that every LaTeX has."""

from __future__ import annotations

import re

import pytest

from analysis.export.latex_text import escaped, label, typewriter
from tests.unit.analysis.export.conftest import HOSTILE, MANY, ORDINARY


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("ddp_strong", r"ddp\_strong"),
        ("50 % & #1 ${}", r"50 \% \& \#1 \texttt{\char36}\texttt{\char123}\texttt{\char125}"),
        ("a--b", r"a-{}-b"),
        ("~^\\", r"\texttt{\char126}\texttt{\char94}\texttt{\char92}"),
        ("é Ü ç ř", r"\'e \"U \c{c} \v{r}"),
        ("ß ø µ ± ×", r"\ss{} \o{} \ensuremath{\mu} \ensuremath{\pm} \ensuremath{\times}"),
        ("א😀", "[U+05D0][U+1F600]"),
    ],
)
def test_every_character_is_itself_or_its_number(text, written):
    assert escaped(text) == written
    assert written.isascii()


def test_what_draws_nothing_is_written_out():
    assert typewriter("a\u202eb\n") == r"\texttt{a\texttt{\char92}u202eb\texttt{\char92}n}"


def test_labels_are_names_that_ref_takes():
    assert label("20261121T014925Z-smoke-3f9a") == "tab:20261121T014925Z-smoke-3f9a"
    assert re.fullmatch(r"tab:a-b-[0-9a-f]{8}", label("a}b"))
    assert label("a}b") != label("a{b")


def test_a_table_has_the_figures_of_the_summary_and_notes_about_them(export):
    written = export(ORDINARY, "--format", "latex").stdout
    assert r"\texttt{ddp} & 8 & 1,120 & 6.34 & 79.3 \% [79.0" in written
    assert r"& good; 1 oom \\" in written
    assert r"speedup and efficiency those of the mean round. Intervals are 95 \% over repeats." in written
    for part in (
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\caption{\texttt{ddp} on 8 ranks",
        r"\label{tab:ordinary}",
    ):
        assert written.count(part) == 1


@pytest.mark.parametrize("session", [ORDINARY, HOSTILE, MANY])
def test_a_table_is_ascii_and_every_row_has_as_many_cells(export, session):
    written = export(session, "--format", "latex").stdout
    assert written.isascii()
    rows = [line for line in written.splitlines() if line.endswith(r" \\")]
    assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1


def test_a_table_longer_than_a_page_breaks_over_pages(export):
    written = export(MANY, "--format", "latex").stdout
    assert written.startswith(r"% In the preamble: \usepackage{booktabs,longtable}")
    assert r"\begin{longtable}" in written
