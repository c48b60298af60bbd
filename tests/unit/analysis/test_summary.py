"""bench summary: the tables and the headline below them."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from click.testing import CliRunner
from rich.console import Console

from analysis import summary
from analysis.errors import AnalysisError
from analysis.loading.load import load
from analysis.tables.scaling import scaling_table
from analysis.wording.headline import headline
from bench.cli.summary import command
from tests.factory import BEGAN, Case, make_session
from tests.unit.analysis.conftest import ask, measured, stored_as

CASES = (
    Case(name="single", scaling="none", strategy="single", step_ms={1: 350.0}),
    Case(
        name="ddp",
        step_ms={1: [362.0, 362.45, 363.0], 4: [95.0, 95.23, 95.5], 8: 57.14},
        statuses={(8, 2): "oom"},
    ),
    Case(name="fsdp", strategy="fsdp", scaling="weak", step_ms={1: 10.0, 2: 20.0}),
)


SKIPPED = {(size, repeat): "skipped" for size in (4, 8) for repeat in (0, 1)}
SKIPPING = [
    Case(name=name, step_ms={1: 10.0, 4: 5.0, 8: 4.0}, repeats=2, statuses=SKIPPED | others)
    for name, others in (("a", {}), ("b", {}), ("c", {(4, 1): "oom"}), ("d", {}))
]
PEAKED_MS = {n: 64.0 * (1 + 0.02 * (n - 1) + 0.002 * n * (n - 1)) / n for n in (1, 2, 4, 8, 16, 32)}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    make_session(folder, CASES, session_id="older", tags=["paper"])
    make_session(folder, CASES[:1], session_id="newer", created_at=BEGAN + timedelta(days=1))
    make_session(folder, SKIPPING, session_id="skipping", suite="skipping")
    make_session(folder, [Case(name="ddp", step_ms=PEAKED_MS)], session_id="peaked", suite="peaked")
    load(folder)
    return folder


def _lines(results, width=1_000, **options):
    out = Console(width=width, color_system=None, highlight=False, force_terminal=False)
    with out.capture() as captured:
        summary.show(results, out=out, **options)
    return [line.rstrip() for line in captured.get().splitlines()]


def _cells(lines, start):
    (line,) = [line for line in lines if line.startswith(start)]
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_the_whole_table_has_the_fields_familiar_columns(sessions):
    lines = _lines(sessions, session="older", wide=True)
    assert " ".join(lines[1].split()) == (
        "configuration ranks nodes examples/s speedup efficiency [95 %] verdict step ms ± std "
        "run s s/epoch best val loss best val acc"
    )
    four = [cell.strip() for cell in lines[5].split("  ") if cell.strip()]
    assert four[:5] == ["ddp", "4", "1", "672", "3.81"]
    assert four[5].startswith("95.1 % [94.")
    assert four[6:8] == ["excellent", "95.2 ± 0.0"]
    assert four[9] == "14.9"  # s/epoch: 10,000 examples at 672 per second, whose interval is [669, 675]


def test_repeats_that_are_not_ok_stand_in_the_table_with_their_reason(sessions):
    lines = _lines(sessions, session="older")
    assert "good; 1 oom" in lines[6]
    assert "ddp 1x8: 1 oom: CUDA out of memory" in lines


@measured(Case(name="ddp", step_ms={1: 10.0, 2: [5.6, 6.4, 6.0]}))
def test_a_verdict_that_the_interval_leaves_open_is_undecided(ask):
    points = ask("FROM scaling ORDER BY workers")
    (verdict,) = [column for column in scaling_table(points, []).values if column.heading == "verdict"]
    assert [verdict.cell(row) for row in points] == ["baseline", "undecided"]
    row = points[1]
    assert verdict.cell(row | {"oversubscribed": True}) == "oversubscribed"


def test_what_is_skipped_for_one_reason_shares_a_line(sessions):
    lines = _lines(sessions, session="skipping")
    assert "a 1x4, a 1x8, b 1x4 and 4 more: 14 skipped: more ranks than slots" in lines
    assert [line for line in lines if line.startswith("c 1x4: 1 oom, 1 skipped: ")], (
        "more than skipped: its own"
    )


def test_every_run_has_its_training_summary_on_request(sessions):
    assert not [line for line in _lines(sessions, session="older") if line.startswith("ddp.1x8.r0")]
    lines = _lines(sessions, session="older", every_run=True)
    assert _cells(lines, "ddp.1x8.r0") == [
        "ddp.1x8.r0", "10", "57.14", "57.14", "57.14", "1120", "1.118", "0.3000", "953.7", "953.7",
    ]  # fmt: skip
    assert _cells(lines, "ddp.1x8.r2")[1:5] == ["5", "57.14", "57.14", "57.14"]


@pytest.mark.parametrize(
    ("recompiles", "when"), [(0, "outside the measured steps"), (2, "partly among measured steps")]
)
def test_the_longest_compilation_is_said_where_any_run_compiled(recompiles, when):
    runs = [
        {"compile_s": None, "measured_recompiles": None},
        {"compile_s": 2.5, "measured_recompiles": recompiles},
        {"compile_s": 13.08, "measured_recompiles": 0},
    ]
    assert list(summary.compiling(runs)) == [f"compiling took up to 13.1 s of a run (`compile_s`), {when}"]
    assert list(summary.compiling(runs[:1])) == []


def test_nothing_is_cut_off_at_80_columns(sessions):
    everything = {"session": "older", "wide": True, "every_run": True}
    narrow, wide = _lines(sessions, width=80, **everything), _lines(sessions, **everything)
    assert max(map(len, narrow)) <= 80
    words = {word for line in wide for word in line.split() if not set(word) <= set("─")}
    assert words <= {word for line in narrow for word in line.split()}


def test_the_newest_session_is_shown_unless_a_name_or_a_tag_says_otherwise(sessions):
    assert _lines(sessions)[0] == "newer"
    assert _lines(sessions, tag="paper")[0] == "older"
    assert _lines(sessions, session="older")[0] == "older"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"session": "oldr"}, "no session 'oldr': did you mean older"),
        ({"session": "d"}, "no session 'd'; .* lists all 4"),
        ({"tag": "thesis"}, "no session has the tag 'thesis'; tags in use: paper"),
    ],
)
def test_an_unknown_session_or_tag_is_named_with_what_there_is(sessions, options, said):
    with pytest.raises(AnalysisError, match=said):
        summary.show(sessions, **options)


def test_the_sentence_closes_the_summary(sessions):
    last = _lines(sessions, session="older")[-1]
    assert last.startswith("At the largest sizes: ")
    assert " ddp on 8 ranks: 21 % of the ranks' time was lost, mainly to " in last


def test_a_peak_that_the_sizes_decide_is_told_before_the_sentence(sessions):
    *_, peak, last = _lines(sessions, session="peaked")
    assert peak == "ddp: fastest at about 22 ranks [20, 25], by 6 sizes."
    assert last.startswith("ddp on 32 ranks over 4 nodes is ")


def test_the_command_prints_plain_lines_into_a_pipe(sessions):
    done = CliRunner().invoke(command, ["older", "--results", str(sessions)])
    assert (done.exit_code, "\x1b" in done.stdout) == (0, False)
    assert max(map(len, done.stdout.splitlines())) > 120


def test_the_rows_of_a_session_are_json_in_the_order_of_its_plan(sessions):
    rows = json.loads(json.dumps(summary.answer(sessions, "older")["scaling"], allow_nan=False))
    assert [(row["case_name"], row["workers"]) for row in rows] == [
        ("single", 1),
        ("ddp", 1),
        ("ddp", 4),
        ("ddp", 8),
        ("fsdp", 1),
        ("fsdp", 2),
    ]
    assert {row["session_id"] for row in rows} == {"older"}


@pytest.fixture
def sentence(ask):
    return headline(ask("FROM scaling"))


@measured(Case(name="ddp", step_ms={1: 10.0, 2: 8.0}, repeats=1))
def test_a_sentence_about_one_repeat_says_that_there_is_no_interval(sentence):
    assert sentence == (
        "ddp on 2 ranks is 1.25 times as fast as on 1 rank, at 62.5 % efficiency; one repeat each."
    )


@measured(Case(name="ddp", step_ms={1: 10.0, 2: [5.6, 6.4, 6.0]}))
def test_a_sentence_that_repeats_do_not_decide_has_no_verdict(sentence):
    assert sentence.endswith(" % efficiency.")


@measured(Case(name="ddp", step_ms={1: 10.0, 2: 10.0}, oversubscribed=frozenset([2])))
def test_a_sentence_about_too_many_ranks_gives_no_verdict(sentence):
    assert sentence == (
        "ddp on 2 ranks is 1.00 times as fast as on 1 rank, at 50.0 % efficiency; no verdict, because "
        "ranks had to share slots or cores."
    )


@measured(Case(name="fsdp", scaling="weak", step_ms={2: 10.0, 4: 12.5}, ranks_per_node=2))
def test_a_sentence_about_weak_scaling_names_the_nodes_and_the_baseline(sentence):
    assert sentence == (
        "fsdp on 4 ranks over 2 nodes is 1.60 times as fast as on 2 ranks, at 80.0 % efficiency: good."
    )


@measured(
    Case(name="one", axis="threads", scaling="none", strategy="single", step_ms={1: 10.0}),
    Case(name="t", axis="threads", strategy="single", step_ms={2: 5.0}, baseline="one"),
)
def test_a_sentence_about_threads_and_another_baseline_names_both(sentence):
    assert sentence == (
        "t on 2 threads is 2.00 times as fast as one on 1 thread, at 100 % efficiency: excellent."
    )


@measured(Case(name="single", scaling="none", step_ms={1: 4.0}))
def test_a_sentence_about_a_single_size_has_no_speedup(sentence):
    assert sentence == (
        "single on 1 rank trains 16,000 examples/s; nothing ran at a second size, so there is no speedup to report."
    )


@measured(Case(name="ddp", step_ms={1: 4.0}, repeats=1, statuses={(1, 0): "failed"}))
def test_a_sentence_about_nothing_but_failures_says_so(sentence):
    assert sentence == "No run of this session is ok, so there is no speedup to report."


def test_a_database_without_sessions_says_what_to_do(empty):
    with pytest.raises(AnalysisError, match="there is no session yet: `bench suite smoke` measures one"):
        summary.show(empty)
    assert ask(empty, "FROM sessions") == []


@stored_as(Case(name="lm", step_ms={1: 10.0, 2: 6.0}, tokens_per_example=1_024))
def test_a_table_of_text_has_tokens_in_place_of_examples_and_fits_80_columns(stored):
    lines = _lines(stored.results, width=80, session=stored.session_id)
    assert lines[1].split()[:4] == ["case", "ranks", "tokens/s", "speedup"]
    assert _cells(lines[:5], "lm        2")[2] == "10,922,667"
    assert "examples/s" not in "".join(lines[:8])
    assert max(map(len, lines)) <= 80
