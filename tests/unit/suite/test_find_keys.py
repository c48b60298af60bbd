"""find_batch and measure.memory_limit_bytes: allowed values, refusals, and the plan's text."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import group
from bench.common.errors import InputError
from bench.records.run_spec import FindSpec
from bench.suite.models import Case
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from bench.suite.shorthand import memory_size

SUITE = """\
title: Fits
workload: {name: spiral_mlp}
measure: {steps: 10, repeats: 2, timeout_s: 30}
cases:
  - {name: many, strategy: ddp, scaling: strong, global_batch: 96, world: [1, 1000], find_batch: true}
  - {name: most, strategy: single, scaling: none, world: [1], find_batch: {smallest: 4, largest: 64}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "fits.yaml"
    path.write_text(SUITE)
    return path


def cases(suite: Path, *settings: str) -> tuple[Case, ...]:
    return load_suite(str(suite), Selection(settings=settings)).cases


def test_true_searches_with_the_defaults_and_false_does_not_search(suite: Path) -> None:
    many, most = cases(suite)
    assert many.find_batch == FindSpec()
    assert most.find_batch == FindSpec(smallest=4, largest=64)
    assert cases(suite, "cases.many.find_batch=false")[0].find_batch is None


@pytest.mark.parametrize(
    ("written", "limit"),
    [("2GiB", 2**31), ("1.5 GiB", 3 * 2**29), ("500MB", 500_000_000), ("1048576", 2**20), ("null", None)],
)
def test_a_memory_limit_is_a_size_or_a_number_of_bytes(suite: Path, written: str, limit: int | None) -> None:
    assert cases(suite, f"measure.memory_limit_bytes={written}")[0].measure.memory_limit_bytes == limit


@pytest.mark.parametrize("text", ["2", "GiB", "2 G", "2gib", "-1GiB", "1e3MB", "2GiB ", "٢GiB"])
def test_what_is_no_size_is_none(text: str) -> None:
    assert memory_size(text) is None


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("train.accumulate=2", "train.accumulate is 2: find_batch finds it, leave it out"),
        ("train.micro_batch=8", "train.micro_batch is 8: find_batch finds it, leave it out"),
        ("cases.most.find_batch.smallest=65", "smallest is 65, find_batch.largest 64: it must not be larger"),
        ("cases.most.find_batch=false", "give batch_per_rank or global_batch, one of them; or find_batch: true"),
        ("cases.most.scaling=weak", "weak scaling fixes batch_per_rank: give it, and no global_batch"),
        ("cases.many.find_batch=4", "it must be true, false, or a mapping of smallest, largest and steps"),
        ("cases.most.find_batch.size=4", "unknown key 'size' in find_batch"),
        ("cases.most.find_batch.steps=1", "must be greater than or equal to 2"),
        ("measure.memory_limit_bytes=some", 'is "some": it must be a size as in 8GiB or 500MB, or a number of bytes'),
        ("measure.memory_limit_bytes=1kB", "is 1000: it must be greater than or equal to 1048576"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(suite: Path, setting: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        cases(suite, setting)
    assert said in str(raised.value)


def test_the_plan_says_that_probing_comes_first(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.parent)
    asked = ["show", "fits.yaml", "--device", "cpu", "--ranks-per-node", "1"]
    done = CliRunner().invoke(group, [*asked, "--set", "cases.many.global_batch=1000"])
    shown = done.output.splitlines()
    assert [line.split()[5:8] for line in shown if line.startswith(("many", "most"))] == [
        ["1000", "1000", "2"],
        ["1", "1000", "2"],
        ["largest", "largest", "2"],
    ]
    assert shown[-1] == (
        "4 runs, 2 skipped, after up to 16 that search the largest micro-batch of 2 sizes (find_batch); "
        "at most 10 min 00 s by their timeouts"
    )
