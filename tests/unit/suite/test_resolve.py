# ruff: noqa: E501 - a message is compared whole, and a table of mistakes reads one to a line
"""Quick, overrides, --set and matrix, in that order; every error with its place and the nearest right name."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import strategies, workloads
from bench.common.errors import InputError
from bench.strategies.fsdp import FsdpOptions
from bench.suite.models import Case, ResolvedSuite
from bench.suite.resolve import load_suite, resolve
from bench.suite.selection import Selection
from bench.suite.yaml_nodes import parse

SUITE = """\
title: Two cases
why: To see.
workload: {name: spiral_mlp}
train: {precision: fp32, learning_rate: 2e-4}
measure: {warmup: 2, steps: 100, repeats: 5}
cases:
  - name: single
    strategy: single
    scaling: none
    batch_per_rank: 8
    world: 1
  - name: ddp_strong
    strategy: ddp
    scaling: strong
    global_batch: 16
    world: [1, 2, 2x4, auto]
    baseline: single
    train: {precision: bf16}
quick:
  measure: {epochs: 1}
  train: {seed: 7}
  cases:
    - {name: ddp_strong, global_batch: 4}
"""
MATRIX = SUITE.replace(
    "    baseline: single\n", "    matrix: {train.compile: [false, true], train.learning_rate: [0.1, 2e-4]}\n"
)


def load(write: object, text: str, **wishes: object) -> ResolvedSuite:
    return load_suite(write(text), Selection(**wishes))  # type: ignore[operator, arg-type]


def case(suite: ResolvedSuite, name: str) -> Case:
    return next(case for case in suite.cases if case.name == name)


def message(write: object, text: str, **wishes: object) -> str:
    with pytest.raises(InputError) as raised:
        load(write, text, **wishes)
    return str(raised.value)


def test_a_case_says_its_own_over_the_suites_and_defaults_are_filled_in(write: object) -> None:
    suite = load(write, SUITE)
    single, strong = suite.cases
    assert (single.train.precision, strong.train.precision) == ("fp32", "bf16")
    assert single.train.learning_rate == strong.train.learning_rate == 2e-4
    assert strong.strategy.name == "ddp"
    assert strong.strategy.options["bucket_cap_mb"] == 25
    assert strong.workload.options == {"hidden": (64, 32, 16), "data_seed": 0}
    assert single.world == (1,)
    assert strong.world == (1, 2, (2, 4), "auto")


def test_quick_is_merged_over_the_suite_and_its_cases_by_name(write: object) -> None:
    plain, quick = load(write, SUITE), load(write, SUITE, quick=True)
    assert case(plain, "ddp_strong").global_batch == 16
    assert case(quick, "ddp_strong").global_batch == 4
    measure = case(quick, "single").measure
    assert (measure.warmup, measure.steps, measure.epochs, measure.repeats) == (2, None, 1, 5)
    assert case(quick, "ddp_strong").train.seed == 7
    assert (plain.quick, quick.quick) == (False, True)


def test_set_wins_over_a_cases_own_override(write: object) -> None:
    suite = load(
        write, SUITE, settings=("train.precision=tf32", "cases.single.batch_per_rank=32", "title=New")
    )
    assert [case.train.precision for case in suite.cases] == ["tf32", "tf32"]
    assert case(suite, "single").batch_per_rank == 32
    assert suite.title == "New"


def test_set_takes_lists_and_null_and_another_strategy(write: object) -> None:
    settings = (
        "cases.ddp_strong.world=[1,4]",
        "train.clip_norm=null",
        "cases.ddp_strong.strategy=fsdp",
        "workload.hidden=[8]",
    )
    suite = load(write, SUITE, settings=settings)
    strong = case(suite, "ddp_strong")
    assert strong.world == (1, 4)
    assert strong.train.clip_norm is None
    assert (strong.strategy.name, strong.strategy.options) == ("fsdp", asdict(FsdpOptions()))
    assert strong.workload.options["hidden"] == (8,)


def test_another_workload_or_strategy_brings_none_of_the_old_options(write: object) -> None:
    text = SUITE.replace("{name: spiral_mlp}", "{name: spiral_mlp, hidden: [8]}")
    suite = load(write, text, settings=("workload.name=mnist_cnn", "data.source=digits"))
    assert [(c.workload.name, c.workload.options) for c in suite.cases] == [
        ("mnist_cnn", {"data_seed": 0})
    ] * 2


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("precision: fp32", "precison: fp32", "s.yaml:4:9: unknown key 'precison' in train; did you mean precision?"),
        ("precision: fp32", "precision: off", 's.yaml:4:20: train.precision is "off": it must be one of fp32, tf32, bf16, fp16'),
        ("precision: bf16", "precision: bf61", 's.yaml:18:24: train.precision is "bf61": it must be one of fp32, tf32, bf16, fp16; did you mean bf16?'),
        ("learning_rate: 2e-4", "learning_rate: 0", "s.yaml:4:41: train.learning_rate is 0: it must be greater than 0"),
        ("learning_rate: 2e-4", "learning_rate: 1e999", "s.yaml:4:41: train.learning_rate is Infinity: it must be a finite number"),
        ("warmup: 2", "warmup: 0123", 's.yaml:5:19: measure.warmup is "0123": it must be a valid integer'),
        ("learning_rate: 2e-4", "learning_rate: 2e-4, checkpointing: products", 's.yaml:4:62: train.checkpointing is "products": it must be one of false, true, keep_attention, keep_matmuls'),
        ("warmup: 2", "warmup: true", "s.yaml:5:19: measure.warmup is true: it must be a valid integer"),
        ("precision: fp32", "batch_size: 8", "s.yaml:4:9: unknown key 'batch_size' in train; use a case's batch_per_rank or global_batch"),
        ("steps: 100", "stepz: 100", "s.yaml:5:22: unknown key 'stepz' in measure; did you mean steps?"),
        ("global_batch: 16", "batch: 16", "s.yaml:15:5: unknown key 'batch'; did you mean batch_per_rank, global_batch or find_batch?"),
        ("name: spiral_mlp", "name: spiral_mpl", f's.yaml:3:18: workload.name is "spiral_mpl": it must name one of the workloads {", ".join(workloads.names())}; did you mean spiral_mlp?'),
        ("name: spiral_mlp", "name: spiral_mlp, hiden: [3]", "s.yaml:3:30: unknown key 'hiden' in workload; did you mean hidden?"),
        ("name: spiral_mlp", "name: spiral_mlp, hidden: []", "s.yaml:3:38: spiral_mlp: hidden is []: give at least one width, each 1 or more"),
        ("strategy: ddp", "strategy: ddb", f's.yaml:13:15: strategy.name is "ddb": it must name one of the strategies {", ".join(strategies.names())}; did you mean ddp?'),
        ("strategy: ddp", "strategy: {name: ddp, bucket_mb: 3}", "s.yaml:13:27: unknown key 'bucket_mb' in strategy; did you mean bucket_cap_mb?"),
        ("    scaling: strong\n", "", "s.yaml:12:5: scaling is missing in case ddp_strong"),
        ("scaling: strong", "scaling: weak", "s.yaml:14:14: case ddp_strong: weak scaling fixes batch_per_rank: give it, and no global_batch"),
        ("world: 1\n", "world: 4x\n", 's.yaml:11:12: world.0 is "4x": it must be a number of ranks from 1 to 1000000, nodes x ranks per node as in 2x4, or auto'),
        ("world: 1\n", "world: []\n", "s.yaml:11:12: world is []: it must list at least one"),
        ("world: 1\n", "world: [1000000000]\n", "s.yaml:11:13: world.0 is 1000000000: it must be a number of ranks from 1 to 1000000, nodes x ranks per node as in 2x4, or auto"),
        ("world: 1\n", "world: [1, 2]\n    threads: [1, 2]\n", "s.yaml:12:14: case single: 2 thread counts over 2 world sizes: a case is scaled over one axis; give one world size, or one thread count"),
        ("name: single\n", "name: Single\n", 's.yaml:7:11: cases.0.name is "Single": it must be 1 to 64 lower-case letters, digits, \'_\' and \'-\''),
        ("name: single\n", "name: ddp_strong\n", "s.yaml:12:11: the case 'ddp_strong' is given twice, first at s.yaml:7:11"),
        ("baseline: single", "baseline: singel", "s.yaml:17:15: case ddp_strong: its baseline 'singel' names no case; did you mean single?"),
        ("title: Two cases", "titel: Two cases", "s.yaml: 2 problems\n  s.yaml:1:1: title is missing\n  s.yaml:1:1: unknown key 'titel'; did you mean title?"),
        ("title: Two cases", "title: 2024", "s.yaml:1:8: title is 2024: it must be text: put it in quotes"),
        ("train: {precision: fp32, learning_rate: 2e-4}", "train: fast", 's.yaml:4:8: train is "fast": it must be a mapping'),
        ("{name: ddp_strong, global_batch: 4}", "{name: ddp, global_batch: 4}", "s.yaml:23:14: quick names the case 'ddp', which does not exist; did you mean ddp_strong?"),
        ("measure: {epochs: 1}", "mesure: {epochs: 1}", "s.yaml:20:3: unknown key 'mesure' in quick; did you mean measure?"),
        ("train: {seed: 7}", "train: {sede: 7}", "s.yaml:21:11: unknown key 'sede' in train; did you mean seed?"),
        ("steps: 100,", "steps: 100, epochs: 2,", "s.yaml:5:10: give measure.steps or measure.epochs, one of them"),
    ],
)  # fmt: skip
def test_an_error_says_where_what_and_the_nearest_right_name(
    write: object, old: str, new: str, expected: str
) -> None:
    assert SUITE.count(old) == 1
    found = message(write, SUITE.replace(old, new))
    # the same mistake in a shared section breaks several cases; then it is one of several lines
    assert expected == found or f"  {expected}" in found.splitlines(), found


def test_a_quick_section_is_checked_when_it_is_not_asked_for(write: object) -> None:
    text = SUITE.replace("global_batch: 4}", "global_batch: -4}")
    assert message(write, text) == "s.yaml:23:40: global_batch is -4: it must be greater than or equal to 1"


def test_a_mistake_that_all_cases_share_is_said_once(write: object) -> None:
    assert message(write, SUITE.replace("seed: 7", "seed: x")).count("seed") == 1


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("train.precison=fp32", "--set train.precison=fp32: unknown key 'precison' in train; did you mean precision?"),
        ("train.precision=fp33", '--set train.precision=fp33: train.precision is "fp33": it must be one of fp32, tf32, bf16, fp16; did you mean fp32?'),
        ("trian.seed=1", "--set trian.seed=1: unknown key 'trian'; did you mean train?"),
        ("cases.singel.world=1", "--set cases.singel.world=1: it takes cases.NAME.KEY=VALUE, and 'singel' names no case; did you mean single?"),
        ("cases.single.wrld=1", "--set cases.single.wrld=1: unknown key 'wrld'; did you mean world?"),
        ("cases.single.name=x", "--set cases.single.name=x: cases are found by their name, so it cannot be set"),
        ("seed", "--set seed: it takes KEY=VALUE, as in train.precision=bf16"),
        ("train..seed=1", "--set train..seed=1: it takes KEY=VALUE, as in train.precision=bf16"),
        ("train.seed=[1", "--set train.seed=[1:1:3: expected ',' or ']', but got '<stream end>'"),
        ("strategy.shard_size=2", "--set strategy.shard_size=2: unknown key 'strategy'; it belongs to a case: --set cases.NAME.strategy.shard_size=2"),
        ("find_batch=true", "--set find_batch=true: unknown key 'find_batch'; it belongs to a case: --set cases.NAME.find_batch=true"),
        ("train=5", "--set train=5: train is 5: it must be a mapping"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named_as_it_was_typed(write: object, setting: str, expected: str) -> None:
    assert message(write, SUITE, settings=(setting,)) == expected


def test_case_globs_keep_the_baseline_that_they_need(write: object) -> None:
    assert [case.name for case in load(write, SUITE, cases=("ddp_*",)).cases] == ["single", "ddp_strong"]
    assert [case.name for case in load(write, SUITE, cases=("single",)).cases] == ["single"]
    assert message(write, SUITE, cases=("sngle",)) == "--case sngle: it matches no case; did you mean single?"


def test_world_repeats_and_device_replace_what_cases_say(write: object) -> None:
    suite = load(write, SUITE, world="1,2x2", repeats=2, device="cpu")
    assert [case.world for case in suite.cases] == [(1,), (1, (2, 2))], "single cannot have 4 ranks"
    assert [(case.measure.repeats, case.device) for case in suite.cases] == [(2, "cpu")] * 2
    assert message(write, SUITE, world="1,two") == (
        "--world 1,two: 'two' must be a number of ranks from 1 to 1000000, nodes x ranks per node as in 2x4, or auto"
    )


def test_the_resolved_suite_survives_json(write: object) -> None:
    resolved = load(write, SUITE).to_json()
    assert json.loads(json.dumps(resolved)) == resolved
    assert resolved["cases"][1]["world"] == [1, 2, "2x4", "auto"]
    assert resolved["cases"][1]["strategy"]["name"] == "ddp"


VALUES = [
    "",
    "null",
    "-1",
    "1e5",
    "x",
    "[]",
    "[1, x]",
    "[[1]]",
    "{}",
    "{name: x}",
    "{name: {a: 1}}",
    "[null]",
    "*a",
    "&a 1",
]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_whatever_is_written_is_refused_in_words_or_taken(data: st.DataObject) -> None:
    text = MATRIX
    for _ in range(data.draw(st.integers(1, 3))):
        places = [match.span(1) for match in re.finditer(r": ([^,}\n]*)", text)]
        begin, end = data.draw(st.sampled_from(places))
        text = text[:begin] + data.draw(st.sampled_from(VALUES)) + text[end:]
    root = data.draw(st.sampled_from(["train", "cases.single", "workload", "matrix", "title"]))
    setting = f"{root}{data.draw(st.sampled_from(['', '.seed', '.name', '.a.b']))}={data.draw(st.sampled_from(VALUES))}"
    assert _words(text, Selection(quick=data.draw(st.booleans()), settings=(setting,))) != ""


def _words(text: str, selection: Selection) -> str:
    """Output about a suite; any other error than an InputError is a defect and fails the test."""
    try:
        return resolve(parse(text, "s.yaml"), Path("s.yaml"), selection).name
    except InputError as error:
        return str(error)
