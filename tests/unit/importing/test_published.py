"""Published tables: the files that ship, their sessions, and files that are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis import history, summary
from analysis.errors import AnalysisError
from analysis.loading.load import load
from bench.cli.reference import command
from bench.common.errors import InputError
from bench.importing import references
from tests.factory import Case, make_session
from tests.unit.importing.conftest import Read, Refusal, ask

TABLE = """
title = "A table"
source = "https://example.org/table.md"
date = 2024-12-26
licence = "Apache-2.0"
hardware = "4 nodes with 8 GPUs"
gpu = "NVIDIA H100 80GB"
gpus_per_node = 8
quantity = "tokens/s per GPU"
tokens_per_example = 2048

[[curve]]
name = "lm-7b"
where = "table 1"
model = "lm-7b"
precision = "bf16"
scaling = "weak"
batch_per_rank = 2
figures = [[4, 2048], [16, 1024]]
"""


def _reference(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


@pytest.fixture(scope="module")
def loaded(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one session of the user's own and, loaded after it, all published tables."""
    results = Path(shutil.copytree(empty, tmp_path_factory.mktemp("references") / "r"))
    make_session(results, [Case(name="ddp", step_ms={1: 10.0, 2: 6.0})], session_id="own")
    done = _reference("load", "--results", str(results))
    assert (done.exception, done.return_value) == (None, 0), done.output
    return results


def test_a_figure_becomes_the_throughput_of_all_gpus(read: Read) -> None:
    few, many = read(TABLE, "t.toml").rows
    assert (few.throughput, few.throughput_unit, few.nodes, few.global_batch) == (4.0, "examples/s", 1, 8)
    assert (many.throughput, many.nodes, many.global_batch, many.device_name) == (
        8.0,
        2,
        32,
        "NVIDIA H100 80GB",
    )


def test_without_the_length_of_sequences_tokens_are_counted(read: Read) -> None:
    few, _ = read(TABLE.replace("tokens_per_example = 2048\n", ""), "t.toml").rows
    assert (few.throughput, few.throughput_unit, few.tokens_per_example) == (8192.0, "tokens/s", None)


def test_mfu_times_gpus_counts_the_peaks_of_gpus(read: Read) -> None:
    few, many = read(TABLE.replace("tokens/s per GPU", "MFU (%)").replace("2048]", "50]"), "t.toml").rows
    assert (few.throughput, few.throughput_unit, many.throughput) == (2.0, "GPU peaks", 163.84)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[4, 2048]", "[4, -1]", "curve 1: figures: -1 is not a number above 0"),
        ("[4, 2048]", "[4, nan]", "curve 1: figures: nan is not a number above 0"),
        ("[4, 2048]", "[4, true]", "curve 1: figures: True is not a number above 0"),
        (
            "[4, 2048]",
            "[16, 2048]",
            "curve 1: figures: 16 GPUs come after 16: write each size once, in order",
        ),
        ("[4, 2048]", "[1e9, 2048]", "1000000000.0 is not a whole number from 1 to 1,000,000"),
        ('scaling = "weak"', 'scaling = "wek"', "curve 1: scaling: 'wek' is not one of none, strong, weak"),
        ("precision", "precison", "curve 1: unknown key 'precison'; did you mean precision?"),
        ('model = "lm-7b"\n', "", "curve 1: has no model"),
        ("https://example.org/table.md", "file:///etc/passwd", "is not an https:// address"),
        ("2024-12-26", "2999-01-01", "the head: date: 2999-01-01 is in the future"),
        ("2024-12-26", '"2024"', "the head: date: '2024' is not a day"),
        ("tokens/s per GPU", "steps", "the head: quantity: 'steps' is not one of"),
        ("[[curve]]", "[[curves]]", "the head: has no list of 1 to 200 [[curve]]"),
        ("A table", "A\\u001b[31m", "is not a line of text"),
        ("gpus_per_node = 8", "gpus_per_node = 8\ngpus_per_node = 8", "not TOML"),
        ("gpus_per_node = 8", "gpus_per_node = 3", "16 ranks do not divide among 6 nodes"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(refusal: Refusal, old: str, new: str, said: str) -> None:
    assert said in refusal(TABLE.replace(old, new), "t.toml")


def test_a_name_is_that_of_one_curve(refusal: Refusal) -> None:
    twice = TABLE + TABLE[TABLE.index("[[curve]]") :]
    assert "curve 2: name 'lm-7b' is already that of another curve" in refusal(twice, "t.toml")


@pytest.mark.parametrize("reference", references.references(), ids=lambda each: each.name)
def test_a_table_that_ships_names_a_commit_and_can_be_checked(reference: references.Reference) -> None:
    table = reference.table
    assert table.facts["source"].startswith("https://github.com/")
    assert table.facts["licence"] in ("Apache-2.0", "BSD-3-Clause")
    assert len(table.rows) > 1


def test_efficiency_is_that_of_the_published_figures(loaded: Path) -> None:
    query = """SELECT workers, round(efficiency, 4), efficiency_lo, is_published FROM scaling
        WHERE session_id = 'published-llm-foundry' AND case_name = 'mpt-7b' ORDER BY 1"""
    expected = [
        (gpus, round(rate / gpus / (85144 / 8), 4)) for gpus, rate in ((128, 1340830), (512, 4951479))
    ]
    found = ask(loaded, query)
    assert [row[:2] for row in (found[1], found[3])] == expected
    assert [row[2:] for row in found[1:]] == [(None, True)] * 3
    mfu = "SELECT efficiency FROM scaling WHERE session_id = 'published-megatron-lm' AND NOT is_baseline"
    assert ask(loaded, mfu) == [(pytest.approx(42 / 47),)]


def test_loss_has_a_time_per_example_only_if_examples_are_counted(loaded: Path) -> None:
    query = """
        SELECT throughput_unit, count(share) > 0, count(rank_s_per_example) > 0, count(lost_ms) > 0
        FROM efficiency_loss
        JOIN scaling USING (session_id, case_name, nodes, ranks_per_node, threads)
        WHERE is_published
        GROUP BY ALL ORDER BY ALL
    """
    assert ask(loaded, query) == [
        ("GPU peaks", True, False, False), ("examples/s", True, True, True), ("tokens/s", True, False, False),
    ]  # fmt: skip


def test_single_sizes_have_no_efficiency(loaded: Path) -> None:
    query = (
        "SELECT count(*), count(efficiency) FROM scaling WHERE case_name SIMILAR TO 'llama3_1-(70|405)b.*'"
    )
    assert ask(loaded, query) == [(4, 0)]


def test_no_default_chooses_a_published_table(loaded: Path) -> None:
    assert ask(loaded, "SELECT newest_session()") == [("own",)]
    assert summary.newest_answer(loaded, None)["session_id"] == "own"
    assert {row["session_id"] for row in history.rows(loaded, None, last=9)} == {"own"}
    assert summary.newest_answer(loaded, "@latest")["session_id"] == "own"


@pytest.fixture(scope="module")
def torchtitan(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one published table."""
    results = Path(shutil.copytree(empty, tmp_path_factory.mktemp("torchtitan") / "r"))
    assert "published-torchtitan: added" in _reference("load", "torchtitan", "--results", str(results)).output
    return results


def test_they_are_the_newest_if_there_is_nothing_else(torchtitan: Path) -> None:
    assert summary.newest_answer(torchtitan, None)["session_id"] == "published-torchtitan"


def test_no_rule_judges_them_not_even_a_custom_one(loaded: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "any_size.sql").write_text(
        "-- title: Any size\n-- severity: notice\n-- meaning: None.\n"
        "SELECT session_id, case_name, 'shown' AS certainty, 'it is there' AS evidence, 'none' AS advice FROM scaling"
    )
    results = Path(shutil.copytree(loaded, tmp_path / "r"))
    load(results, rules)
    assert ask(results, "SELECT DISTINCT session_id FROM findings WHERE finding = 'any_size'") == [("own",)]
    assert ask(results, "SELECT count(*) FROM findings WHERE session_id LIKE 'published-%'") == [(0,)]


def test_what_is_printed_of_them_is_true(loaded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary.show(loaded, "published-megatron-lm")
    printed = " ".join(capsys.readouterr().out.split())
    assert "licence BSD-3-Clause: https://github.com/NVIDIA/Megatron-LM/" in printed
    assert "one figure per size, so there are no intervals" in printed
    assert printed.endswith("at 89.4 % efficiency; one published figure each.")
    assert "repeat" not in printed


def _outdated(results: Path, name: str) -> None:
    """Its session is from now on that of another version of the table."""
    head = results / f"published-{name}/session.json"
    content = json.loads(head.read_text())
    content["imported"]["files"][0]["sha256"] = "0"
    head.write_text(json.dumps(content))


def test_loading_twice_changes_nothing_and_another_version_is_refused(
    torchtitan: Path, tmp_path: Path
) -> None:
    results = Path(shutil.copytree(torchtitan, tmp_path / "r"))
    where = ("--results", str(results))
    assert "published-torchtitan: already there" in _reference("load", "torchtitan", *where).output
    _outdated(results, "torchtitan")
    refused = _reference("load", "dlperf", "torchtitan", *where)
    assert isinstance(refused.exception, InputError)
    assert "remove this folder, then load torchtitan again" in str(refused.exception)
    assert not (results / "published-dlperf").exists()


def test_another_version_is_listed_with_the_others(torchtitan: Path, tmp_path: Path) -> None:
    results = Path(shutil.copytree(torchtitan, tmp_path / "r"))
    where = ("--results", str(results))
    _outdated(results, "torchtitan")
    done = _reference("list", "dlperf", "torchtitan", *where)
    assert [line.split(":")[0] for line in done.output.splitlines() if not line.startswith(" ")] == [
        "dlperf",
        "torchtitan, loaded, another version",
    ]
    (row,) = json.loads(_reference("list", "torchtitan", "--json", *where).output)
    assert (row["loaded"], row["another_version"]) == (True, True)


def test_an_unknown_name_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    refused = _reference("load", "dlperf", "torchtitn", "--results", str(tmp_path / "r"))
    assert isinstance(refused.exception, InputError)
    assert "did you mean torchtitan?" in str(refused.exception)
    assert not (tmp_path / "r").exists()


def test_the_list_says_what_is_loaded(loaded: Path, tmp_path: Path) -> None:
    done = _reference("list", "torchtitan", "--results", str(loaded))
    assert done.output.startswith("torchtitan, loaded: torchtitan: Llama 3.1 on H100, on 8 to 512 GPUs\n")
    assert "10 figures, 3 of 7 cases with several sizes; 2024-12-26, BSD-3-Clause" in done.output
    assert ", loaded" not in _reference("list", "--results", str(tmp_path)).output


def test_a_suite_without_a_session_is_still_named(loaded: Path) -> None:
    with pytest.raises(AnalysisError, match="no session of the suite 'none'"):
        history.rows(loaded, "none", last=1)
