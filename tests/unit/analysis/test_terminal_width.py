"""A session with awkward names on a terminal of 80 columns: whole lines, whole words, rows that differ."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, set_cell_size
from rich.console import Console

from analysis import summary
from analysis.tables.line_breaks import distinct, wrapped, wrapped_command
from bench.plan.world_sizes import obstacle
from bench.records.run_spec import Slots
from bench.records.skip_reason import OVERSUBSCRIBE_HINT, common
from tests.factory import Case
from tests.unit.analysis.conftest import Stored, stored_as

STEM = "language_model_of_124_million_parameters"
AWKWARD = [
    Case(
        name=f"{STEM}_bucket_{size}_mb_strong",
        step_ms={1: 100.0, 2: [53.0, 51.0, 60.0], 4: 28.0, 16: 9.0},
        ranks_per_node=8,
    )
    for size in (1, 25)
] + [
    Case(name=f"{STEM}_weak", scaling="weak", step_ms={1: 10.0, 2: [9.0, 30.0, 12.0]}, strategy="fsdp"),
    Case(name="言語モデルのデータ並列による学習と全体の評価の比較実験", step_ms={1: 10.0, 2: 6.0}),
    Case(name="a", step_ms={1: 10.0, 2: 20.0}, statuses={(2, 1): "oom", (2, 2): "failed"}),
    Case(name="alone", step_ms={2: 5.0}),
]


awkward = stored_as(*AWKWARD)


def shown(stored: Stored, width: int, **options: bool) -> list[str]:
    out = Console(width=width, color_system=None, force_terminal=False)
    with out.capture() as captured:
        summary.show(*stored, out=out, **options)
    return captured.get().splitlines()


def tables(lines: list[str]) -> Iterator[list[str]]:
    """The rows of each table, without headings."""
    for place, line in enumerate(lines):
        if set(line) == {"─"}:
            rest = lines[place + 1 :]
            end = next((i for i, row in enumerate(rest) if not re.match(r" |.*?  +\d", row)), len(rest))
            yield rest[:end]


@awkward
@pytest.mark.parametrize("width", [72, 80, 100, 120, 160])
@pytest.mark.parametrize("options", [{}, {"wide": True, "every_run": True}])
def test_no_line_is_wider_than_the_terminal(stored: Stored, width: int, options: dict[str, bool]) -> None:
    assert max(map(cell_len, shown(stored, width, **options))) <= width


@awkward
def test_at_80_columns_the_table_is_in_one_piece_and_no_two_rows_look_alike(stored: Stored) -> None:
    lines = shown(stored, 80)
    headings = [heading.removesuffix(" [95 %]") for heading in re.split(r"  +", lines[1])]
    assert headings == ["case", "ranks", "examples/s", "speedup", "efficiency %", "verdict"]
    (rows,) = tables(lines)
    end = cell_len(lines[1][: lines[1].index("ranks")]) + len("ranks")
    keys = [key for row in rows if (key := set_cell_size(row, end)).strip()]
    assert len(keys) == len({*keys}) == 15
    assert any("16 (2x8)" in row for row in rows)


@awkward
def test_a_size_that_nothing_is_compared_with_has_neither_speedup_nor_efficiency(stored: Stored) -> None:
    for options in ({}, {"wide": True}):
        row = next(line for line in shown(stored, 300, **options) if line.startswith("alone"))
        assert "2.00" not in row
        assert "100 %" not in row


@awkward
def test_words_are_whole_at_80_columns(stored: Stored) -> None:
    def words(lines: list[str]) -> set[str]:
        return {word for line in lines for word in line.split() if "…" not in word and STEM not in word}

    lines = shown(stored, 80)
    sentences = lines[next(place for place, line in enumerate(lines) if line.startswith("a 1x2:")) :]
    assert words(sentences) - {"\\"} <= words(shown(stored, 1000))


@awkward
def test_more_columns_have_more_intervals_and_digits(stored: Stored) -> None:
    headings = [shown(stored, width)[1] for width in (80, 160)]
    assert "examples/s [95 %]" not in headings[0]
    assert "examples/s [95 %]" in headings[1]


SIZES = (4, 8, 16)
SKIPPED = {(size, repeat): "skipped" for size in SIZES for repeat in range(3)}


def give_reasons(session: Path) -> None:
    """Write the planner's reasons into the results of skipped runs."""
    slots = Slots(nodes=1, slots_per_node=2, cpus_per_node=2, device_type="cpu")
    for path in session.glob("*/run.json"):
        text = path.read_text()
        size = int(re.search(r"\.1x(\d+)\.", path.parent.name)[1])  # type: ignore[index]
        found = obstacle((1, size), slots.slots_per_node, slots, 1)
        if found is not None:
            assert "more ranks than slots" in text
            path.write_text(text.replace("more ranks than slots", f"{found[0]}{OVERSUBSCRIBE_HINT}"))


@stored_as(
    *(
        Case(name=name, step_ms=dict.fromkeys((1, 2, *SIZES), 10.0), statuses=SKIPPED, ranks_per_node=16)
        for name in ("a", "b")
    ),
    changed=give_reasons,
)
def test_sizes_that_need_more_slots_share_a_line_and_leave_the_table(stored: Stored) -> None:
    lines = shown(stored, 80)
    (rows,) = tables(lines)
    assert [row.split()[:2] for row in rows] == [["a", "1"], ["a", "2"], ["b", "1"], ["b", "2"]]
    said = " ".join(lines)
    assert "18 skipped: they need more than 2 slots; --oversubscribe runs them" in said
    assert said.count("skipped") == 1
    assert " ".join(shown(stored, 80, wide=True)).count("3 skipped") == 6


def test_one_size_that_is_skipped_says_how_many_slots_it_needs() -> None:
    reason = f"needs 4 slots, this machine has 2{OVERSUBSCRIBE_HINT}"
    other = f"needs 8 slots, this machine has 2{OVERSUBSCRIBE_HINT}"
    assert common([reason, reason]) == reason
    assert common([reason, other]) == "they need more than 2 slots; --oversubscribe runs them"


WORDS = st.lists(st.text("abc語é-=[],.%0123456789`'", min_size=1, max_size=12), min_size=1, max_size=30)


@given(words=WORDS, width=st.integers(16, 100), indent=st.sampled_from(["", "  ", "    "]))
def test_lines_keep_every_word_and_break_only_between_them(words: list[str], width: int, indent: str) -> None:
    text = indent + " ".join(words)
    lines = wrapped(text, width)
    assert " ".join(lines).split() == words
    assert all(line.startswith(indent) for line in lines)
    for line in lines:
        assert cell_len(line) <= width or len(line.split()) == 1


def test_an_interval_a_percentage_and_a_command_stay_in_one_piece() -> None:
    text = (
        "an efficiency of 48 % [20.4, 112.5] is undecided: `bench suite smoke --repeats 9` takes 12 minutes"
    )
    for width in range(32, 90):
        said = "\n".join(wrapped(text, width))
        assert all(
            piece in said
            for piece in ("48 %", "[20.4, 112.5]", "`bench suite smoke --repeats 9`", "12 minutes")
        )


@given(
    arguments=st.lists(st.text("ab c'\"$`\\=", max_size=14), min_size=1, max_size=8),
    width=st.integers(20, 60),
)
def test_a_shell_reads_a_command_of_several_lines_as_the_same_command(
    arguments: list[str], width: int
) -> None:
    text = f"    try: {shlex.join(['bench', *arguments])}"
    lines = wrapped_command(text, width)
    assert all(line.endswith(" \\") for line in lines[:-1])
    joined = "\n".join(lines).replace("try: ", "", 1).replace(" \\\n", " ")  # as a shell joins lines
    assert shlex.split(joined) == ["bench", *arguments]


@given(
    names=st.lists(st.text("ab語_", min_size=1, max_size=40), min_size=1, max_size=12),
    width=st.integers(6, 30),
)
def test_names_that_are_cut_stay_different(names: list[str], width: int) -> None:
    cut = distinct(names, width)
    if cut is None:
        assert max(map(cell_len, names)) > width
        return
    assert max(map(cell_len, cut)) <= width
    assert len(set(zip(names, cut, strict=True))) == len(set(names)) == len(set(cut))
