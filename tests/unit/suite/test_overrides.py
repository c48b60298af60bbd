"""Surprising effects of --set and --quick, and the messages about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.common.errors import InputError
from bench.suite import rules
from bench.suite.models import ResolvedSuite
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

SUITE = """\
title: Two cases
workload: {name: spiral_mlp}
measure: {steps: 100}
cases:
  - {name: single, strategy: single, scaling: none, batch_per_rank: 8, world: 1}
  - {name: ddp_strong, strategy: ddp, scaling: strong, global_batch: 16, world: [1, 2], train: {precision: bf16}}
quick:
  train: {seed: 7}
"""


def load(folder: Path, text: str, **wishes: object) -> ResolvedSuite:
    (folder / "s.yaml").write_text(text)
    return load_suite(str(folder / "s.yaml"), Selection(**wishes))  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", ["fsdp", "{name: fsdp}"])
def test_an_option_may_be_set_of_a_strategy_that_is_set(tmp_path: Path, strategy: str) -> None:
    settings = (f"cases.ddp_strong.strategy={strategy}", "cases.ddp_strong.strategy.reshard=grad_op")
    _, strong = load(tmp_path, SUITE, settings=settings).cases
    chosen = strong.strategy
    assert (chosen.name, chosen.options["reshard"]) == ("fsdp", "grad_op")


def test_a_setting_for_the_suite_that_replaces_a_cases_own_is_told(tmp_path: Path) -> None:
    typed = "train.precision=tf32"
    told = f"--set {typed} also replaces the value of case ddp_strong; for one case alone: --set cases.single.{typed}"
    assert load(tmp_path, SUITE, settings=(typed,)).notes == (told,)
    harmless = ("train.precision=bf16", "train.seed=3", "cases.ddp_strong.train.precision=fp32")
    assert load(tmp_path, SUITE, settings=harmless).notes == ()
    assert load(tmp_path, SUITE, settings=(typed,), cases=("single",)).notes == (), "the other is not run"


def test_quick_of_a_suite_that_has_no_such_section_is_told(tmp_path: Path) -> None:
    without = SUITE[: SUITE.index("quick:")]
    assert load(tmp_path, without, quick=True).notes == (
        "s has no section `quick`: with --quick it is run whole",
    )
    assert load(tmp_path, SUITE, quick=True).notes == load(tmp_path, without).notes == ()


SECRETIVE = """\
from dataclasses import dataclass

from bench.workloads.spiral_mlp import SpiralOptions
from bench.workloads.spiral_mlp import Workload as Spirals


@dataclass(frozen=True, kw_only=True)
class Options(SpiralOptions):
    hub_token: str = ""
    token_width: int = 4


class Secretive(Spirals):
    Options = Options
"""


@pytest.mark.parametrize("where", ["suite", "--set"])
def test_what_is_named_like_a_secret_is_refused_because_a_suite_is_stored(tmp_path: Path, where: str) -> None:
    (tmp_path / "own.py").write_text(SECRETIVE)
    own = SUITE.replace("name: spiral_mlp", "name: ./own.py:Secretive, token_width: 8")
    assert load(tmp_path, own).cases[0].workload.options["token_width"] == 8
    written = own.replace("token_width: 8", "hub_token: hf_abc") if where == "suite" else own
    settings = () if where == "suite" else ("workload.hub_token=hf_abc",)
    with pytest.raises(InputError, match=r"workload\.hub_token is named like a secret") as refused:
        load(tmp_path, written, settings=settings)
    assert "let the program read it from its environment" in str(refused.value)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"api_keys": ["hunter2"]}, ["api_keys"]),
        ({"hfToken": "x", "sort_key": "length", "pad_token": "<pad>"}, ["hfToken"]),
        ({"a": [{"password": "x"}, {"b": {"pwd": "y"}}]}, ["a.password", "a.b.pwd"]),
        ({"tokens": 512, "token": "", "key": None, "auth": True}, []),
    ],
)
def test_a_secret_is_found_in_lists_and_in_any_spelling(options: dict[str, Any], found: list[str]) -> None:
    assert [".".join(path) for path in rules.named(options, ())] == found


def test_vary_runs_every_case_with_each_value_and_its_baseline_with_the_same(tmp_path: Path) -> None:
    text = SUITE.replace("world: [1, 2]", "world: [1, 2], baseline: single")
    suite = load(
        tmp_path, text.replace(", train: {precision: bf16}", ""), vary=("train.precision=fp32, bf16",)
    )
    assert [(case.name, case.train.precision, case.baseline) for case in suite.cases] == [
        ("single~precision=fp32", "fp32", None),
        ("single~precision=bf16", "bf16", None),
        ("ddp_strong~precision=fp32", "fp32", "single~precision=fp32"),
        ("ddp_strong~precision=bf16", "bf16", "single~precision=bf16"),
    ]


def test_several_vary_make_every_combination_and_set_applies_to_all(tmp_path: Path) -> None:
    vary = ("train.precision=fp32,bf16", "data.workers=0,1")
    suite = load(tmp_path, SUITE, cases=("single",), vary=vary, settings=("train.seed=3",))
    assert [(case.train.precision, case.data.workers, case.train.seed) for case in suite.cases] == [
        ("fp32", 0, 3), ("fp32", 1, 3), ("bf16", 0, 3), ("bf16", 1, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("vary", "reason"),
    [
        ("train.precision=fp32", "it takes KEY=VALUE,VALUE with two values or more"),
        ("train.precision", "it takes KEY=VALUE,VALUE with two values or more"),
        ("train.precision=", "it takes KEY=VALUE,VALUE with two values or more"),
        ("=1,2", "it takes KEY=VALUE,VALUE with two values or more"),
        ("tran.precision=fp32,bf16", "unknown key 'tran'; did you mean train?"),
        ("train.precison=fp32,bf16", "unknown key 'precison' in train; did you mean precision?"),
        ("name=a,b", "unknown key 'name'"),
        ("data.workers=1,2", "case single varies that key in its matrix; leave one of them out"),
        ("train.seed=1,2", "--set train.seed=3 gives that key, too; leave one of them out"),
        ("train={seed: 1},{seed: 2}", "--set train.seed=3 gives that key, too"),
        ("train.precision=fp32,bf16", "--set cases.single.train.precision=fp16 gives that key, too"),
        ("train.momentum=0,0", "two combinations are both named single~workers=0~momentum=0"),
        ("train.lr_schedule=7,8", "train.lr_schedule"),
    ],
)
def test_a_vary_that_cannot_be_names_itself_and_the_reason(tmp_path: Path, vary: str, reason: str) -> None:
    text = SUITE.replace("world: 1}", "world: 1, matrix: {data.workers: [0, 1]}}")
    settings = ("train.seed=3", "cases.single.train.precision=fp16")
    with pytest.raises(InputError) as raised:
        load(tmp_path, text, vary=(vary,), settings=settings)
    assert f"--vary {vary}: " in str(raised.value)
    assert reason in str(raised.value)


def test_a_key_is_varied_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train\.seed is varied twice"):
        load(tmp_path, SUITE, vary=("train.seed=1,2", "train.seed=3,4"))
