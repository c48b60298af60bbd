# ruff: noqa: E501 - a message is compared whole
"""A suite may name a custom strategy."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import Slots
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

STRATEGY = """
from dataclasses import dataclass
from bench.strategies import Strategy
@dataclass(frozen=True, kw_only=True)
class Options:
    depth: int = 3
class Mine(Strategy):
    Options = Options
    def wrap(self, model, blocks, *, device, precision): return model
"""
SUITE = """
title: Mine
workload: {name: spiral_mlp}
measure: {steps: 3}
cases:
  - {name: a, strategy: {name: ./mine.py:Mine, depth: 5}, scaling: strong, global_batch: 8, world: [1, 2]}
"""
SLOTS = Slots(slots_per_node=4, cpus_per_node=4, device_type="cpu")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(STRATEGY)
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path / "suite.yaml"


def test_a_strategys_file_is_looked_for_beside_the_suite_and_keeps_its_options(suite: Path) -> None:
    (case,) = load_suite(str(suite)).cases
    assert case.strategy.name == f"{suite.parent}/mine.py:Mine"
    assert case.strategy.options == {"depth": 5}
    assert [run.spec.strategy for run in plan(load_suite(str(suite)), SLOTS, "s")] == [case.strategy.name] * 6


def test_its_name_alone_is_enough_also_on_the_command_line_and_in_a_matrix(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.write_text(SUITE.replace("{name: ./mine.py:Mine, depth: 5}", "./mine.py:Mine"))
    (case,) = load_suite(str(suite)).cases
    assert (case.strategy.name, case.strategy.options) == (f"{suite.parent}/mine.py:Mine", {"depth": 3})
    monkeypatch.chdir(suite.parent)
    settings = ("cases.a.strategy=./mine.py:Mine", "cases.a.strategy.depth=7")
    (case,) = load_suite(str(suite), Selection(settings=settings)).cases
    assert (case.strategy.name, case.strategy.options) == (f"{suite.parent}/mine.py:Mine", {"depth": 7})
    suite.write_text(
        suite.read_text().replace("world: [1, 2]}", "world: 1, matrix: {strategy: [ddp, ./mine.py:Mine]}}")
    )
    assert [case.name for case in load_suite(str(suite)).cases] == [
        "a~strategy=ddp",
        "a~strategy=.-mine.py-Mine",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("class Mine(Strategy)", "class Mine"), "mine.py is no subclass of Strategy: write `class Mine(Strategy):`, after `from bench.strategies import Strategy`"),
        (("depth: int = 3", "width: int = 3"), "unknown key 'depth' in strategy; did you mean width?"),
        (("from dataclasses", "1 / 0\nfrom dataclasses"), "cannot be imported: ZeroDivisionError: division by zero (mine.py:2, in <module>)"),
        (("class Mine", "class Yours"), "has no class Mine"),
        (
            (
                "    Options = Options",
                "    Options = Options\n    @staticmethod\n    def conflicts(options, asked): return [1]",
            ),
            "conflicts() of mine.py:Mine returned [1]: return a list of (text, text)",
        ),
    ],
)  # fmt: skip
def test_a_wrong_part_is_refused_with_its_name(suite: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in STRATEGY
    (suite.parent / "mine.py").write_text(STRATEGY.replace(*change))
    with pytest.raises(InputError) as refused:
        load_suite(str(suite))
    assert message in str(refused.value)


def test_its_conflicts_are_problems_of_the_suite_and_its_misfits_of_the_plan(suite: Path) -> None:
    own = (
        "    @staticmethod\n"
        "    def misfit(options, world_size, device_type):\n"
        "        return 'needs an even number' if world_size % 2 else None\n"
    )
    (suite.parent / "mine.py").write_text(STRATEGY + own)
    with pytest.raises(InputError, match=r"suite.yaml:6:\d+: case a: needs an even number"):
        plan(load_suite(str(suite)), SLOTS, "s")
    own = (
        "    @staticmethod\n"
        "    def conflicts(options, asked):\n"
        "        yield 'depth', f'depth is not for {asked.train.precision}'\n"
    )
    (suite.parent / "mine.py").write_text(STRATEGY + own)
    with pytest.raises(InputError, match=r"suite.yaml:6:\d+: case a: depth is not for fp32"):
        load_suite(str(suite))


def test_a_misfit_that_raises_is_refused(suite: Path) -> None:
    own = "    @staticmethod\n    def misfit(options, world_size, device_type): 1 / 0\n"
    (suite.parent / "mine.py").write_text(STRATEGY + own)
    with pytest.raises(InputError, match=r"mine.py:11, in misfit: ZeroDivisionError: division by zero"):
        plan(load_suite(str(suite)), SLOTS, "s")


def sharing(suite: Path, ranks: str, case: str = "scaling: strong, global_batch: 8, world: [2, 4]") -> Path:
    """The suite with a strategy whose groups of `ranks` share a batch, and another scaling and batch."""
    own = f"    @staticmethod\n    def ranks_per_batch(options, world_size): return {ranks}\n"
    (suite.parent / "mine.py").write_text(STRATEGY + own)
    suite.write_text(SUITE.replace("scaling: strong, global_batch: 8, world: [1, 2]", case))
    return suite


def batches(suite: Path) -> list[tuple[int, int, int, int]]:
    """Ranks, ranks that share a batch, batch per rank and global batch of each size."""
    specs = [run.spec for run in plan(load_suite(str(suite)), SLOTS, "s") if run.spec.repeat == 0]
    return [(spec.world_size, spec.ranks_per_batch, spec.batch_per_rank, spec.global_batch) for spec in specs]


def test_ranks_that_share_a_batch_count_its_examples_once(suite: Path) -> None:
    assert batches(sharing(suite, "2")) == [(2, 2, 8, 8), (4, 2, 4, 8)]
    assert batches(sharing(suite, "world_size")) == [(2, 2, 8, 8), (4, 4, 8, 8)]
    weak = sharing(suite, "2", "scaling: weak, batch_per_rank: 3, world: [2, 4]")
    assert batches(weak) == [(2, 2, 3, 3), (4, 2, 3, 6)]


@pytest.mark.parametrize(
    ("ranks", "case", "message"),
    [
        (
            "3",
            "scaling: strong, global_batch: 8, world: [2, 4]",
            "2 ranks do not divide into groups of 3 that share a batch (ranks_per_batch of mine.py:Mine): 2 / 3 = 0.6",
        ),
        (
            "2",
            "scaling: strong, global_batch: 9, world: [4]",
            "global_batch 9 does not divide among 2 groups of 2 ranks (9 / 2 = 4.5): --set cases.a.global_batch=10",
        ),
        (
            "world_size",
            "scaling: weak, batch_per_rank: 8, world: [2, 4]",
            "weak scaling needs the same ranks_per_batch at every world size, but it is 2 at 2, 4 at 4 ranks",
        ),
        (
            "0",
            "scaling: strong, global_batch: 8, world: [2]",
            "ranks_per_batch() of mine.py:Mine returned 0: return a whole number, at least 1",
        ),
    ],
)
def test_groups_that_do_not_divide_are_refused_with_the_numbers(
    suite: Path, ranks: str, case: str, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        plan(load_suite(str(sharing(suite, ranks, case))), SLOTS, "s")
    assert message in str(refused.value)


def test_an_automatic_size_whose_groups_do_not_divide_is_skipped(suite: Path) -> None:
    runs = plan(
        load_suite(str(sharing(suite, "2", "scaling: strong, global_batch: 8, world: auto"))), SLOTS, "s"
    )
    reasons = {run.spec.world_size: run.skip_reason for run in runs}
    assert reasons[2] is reasons[4] is None
    assert str(reasons[1]).startswith("1 rank does not divide into groups of 2")
