"""A suite may name a custom workload, and use every feature of suites at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import Slots
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

MODEL = """
from dataclasses import dataclass
from bench.workloads import Workload
@dataclass(frozen=True, kw_only=True)
class Options:
    width: int = 3
class Mine(Workload):
    Options = Options
    def model(self): ...
    def batch(self, indices, keys): ...
    def loss(self, model, batch): ...
"""
SUITE = """
title: Mine
workload: {name: ./my_model.py:Mine, width: 5}
measure: {steps: 3}
cases:
  - {name: a, strategy: ddp, scaling: weak, batch_per_rank: 4, world: [1]}
"""
EVERYTHING = """
title: DDPM U-Net on CIFAR-10 shapes
why: >
  Does it pay off?
workload: {name: ddpm_unet, base_channels: 128}
data: {source: synthetic, workers: 0, pin_memory: true, persistent_workers: true, prefetch: 2}
train: {precision: bf16, optimizer: adamw, learning_rate: 2e-4, lr_schedule: linear_warmup, warmup_steps: 100,
        total_steps: 1000, accumulate: 1, compile: false, checkpointing: false, seed: 0}
measure: {warmup: 20, steps: 100, repeats: 5, timeout_s: 600, profiled: 0}
device: auto
cases:
  - {name: single, strategy: single, scaling: none, batch_per_rank: 128, world: [1]}
  - name: ddp_strong
    strategy: {name: ddp, static_graph: true, bucket_cap_mb: 50}
    scaling: strong
    global_batch: 1024
    world: [1, 2x4]
    baseline: single
  - name: fsdp_weak
    strategy: {name: fsdp, reshard: full}
    scaling: weak
    batch_per_rank: 128
    world: auto
    train: {precision: fp32}
    matrix: {train.compile: [false, true]}
  - {name: threads, device: cpu, strategy: single, scaling: strong, global_batch: 256, world: [1], threads: [1, 2, 4]}
quick:
  workload: {base_channels: 32}
  measure: {warmup: 2, steps: 8, repeats: 2}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "mine.yaml").write_text(SUITE)
    return tmp_path / "mine.yaml"


def test_a_workloads_file_is_looked_for_beside_the_suite_and_keeps_its_options(suite: Path) -> None:
    (case,) = load_suite(str(suite)).cases
    assert case.workload.name == f"{suite.parent}/my_model.py:Mine"
    assert case.workload.options == {"width": 5}


def test_a_workloads_file_that_is_set_is_looked_for_in_the_current_folder(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = suite.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "other.py").write_text(MODEL)
    monkeypatch.chdir(elsewhere)
    (case,) = load_suite(str(suite), Selection(settings=("workload.name=./other.py:Mine",))).cases
    assert case.workload.name == f"{elsewhere}/other.py:Mine"


def test_a_workloads_file_that_changes_the_folder_moves_no_other_path(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (suite.parent / "my_model.py").write_text(f"import os\nos.chdir('/')\n{MODEL}")
    suite.write_text(SUITE + SUITE.splitlines()[-1].replace("name: a", "name: b"))
    monkeypatch.chdir(suite.parent)
    one, two = load_suite("mine.yaml").cases
    assert one.workload.name == two.workload.name == f"{suite.parent}/my_model.py:Mine"
    assert Path.cwd() == suite.parent


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("my_model.py:Mine", "other.py:Mine"), "there is no file"),
        (("my_model.py:Mine", "my_model.py:Yours"), "has no class Yours"),
        (("width: 5", "wdth: 5"), "wdth"),
    ],
)
def test_a_wrong_workload_of_ones_own_is_refused_in_words(
    suite: Path, change: tuple[str, str], message: str
) -> None:
    suite.write_text(SUITE.replace(*change))
    with pytest.raises(InputError, match=message):
        load_suite(str(suite))


@pytest.mark.parametrize("other", ["class Mine:", "def Mine(self):", "class Mine(Exception):"])
def test_a_class_that_is_no_workload_is_told_how_to_become_one(suite: Path, other: str) -> None:
    (suite.parent / "my_model.py").write_text(MODEL.replace("class Mine(Workload):", other))
    with pytest.raises(InputError) as refused:
        load_suite(str(suite))
    assert str(refused.value).endswith(
        f": Mine of {suite.parent}/my_model.py is no subclass of Workload: write `class Mine(Workload):`, after "
        "`from bench.workloads import Workload`"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("    width: int = 3", "    width: int = 3\n    def __post_init__(self): raise KeyError('boo')"),
            "Options of my_model.py:Mine raised KeyError: 'boo'",
        ),
        (("width: int", "width: type(print)"), "Options of my_model.py:Mine: Unable to generate"),
    ],
)
def test_wrong_options_are_refused_with_the_name_of_the_class(
    suite: Path, change: tuple[str, str], message: str
) -> None:
    assert change[0] in MODEL
    (suite.parent / "my_model.py").write_text(MODEL.replace(*change))
    with pytest.raises(InputError, match=message):
        load_suite(str(suite))


def test_a_class_without_options_takes_none(suite: Path) -> None:
    (suite.parent / "my_model.py").write_text(MODEL.replace("    Options = Options\n", ""))
    with pytest.raises(InputError, match="unknown key 'width' in workload"):
        load_suite(str(suite))
    suite.write_text(SUITE.replace(", width: 5", ""))
    (case,) = load_suite(str(suite)).cases
    assert case.workload.options == {}


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("1 / 0", r"ZeroDivisionError: division by zero \(my_model.py:1, in <module>\)"),
        ("\nraise SystemExit", r"SystemExit \(my_model.py:2, in <module>\): the file ended the process; .*"),
        (
            "import sys; sys.exit('bye')",
            r"SystemExit: bye \(my_model.py:1, in <module>\): the file ended the process; .*",
        ),
        (
            "import os\nos._exit(0)",
            r"SystemExit: os._exit\(0\) \(my_model.py:2, in <module>\): the file ended the process; .*",
        ),
        ("def", r"SyntaxError: .*"),
    ],
)
def test_a_workloads_file_that_raises_is_refused_with_what_it_raised(
    suite: Path, file: str, said: str
) -> None:
    (suite.parent / "my_model.py").write_text(file)
    with pytest.raises(InputError, match=f"cannot be imported: {said}$"):
        load_suite(str(suite))


def test_options_that_refuse_their_own_values_are_quoted_with_the_key(suite: Path) -> None:
    refusing = "    width: int = 3\n    def __post_init__(self): raise ValueError('too wide')"
    (suite.parent / "my_model.py").write_text(MODEL.replace("    width: int = 3", refusing))
    with pytest.raises(InputError, match=r"mine.yaml:3:11: too wide"):
        load_suite(str(suite))


def test_a_file_is_executed_once_and_again_when_it_has_changed(suite: Path) -> None:
    counted = MODEL + "open(__file__ + '.executed', 'a').write('x')\n"
    count = suite.parent / "my_model.py.executed"
    (suite.parent / "my_model.py").write_text(counted)
    for _ in range(2):
        load_suite(str(suite))
    assert count.read_text() == "x"
    (suite.parent / "my_model.py").write_text(counted.replace("width: int = 3", "width: int = 30"))
    load_suite(str(suite))
    assert count.read_text() == "xx"


def test_two_files_of_one_name_do_not_mix(suite: Path) -> None:
    other = suite.parent / "other"
    other.mkdir()
    (other / "my_model.py").write_text(MODEL.replace("width", "depth"))
    (other / "mine.yaml").write_text(SUITE.replace("width", "depth"))
    for path, options in ((suite, {"width": 5}), (other / "mine.yaml", {"depth": 5}), (suite, {"width": 5})):
        (case,) = load_suite(str(path)).cases
        assert case.workload.options == options


def test_everything_that_a_suite_can_say_is_planned(tmp_path: Path) -> None:
    path = tmp_path / "everything.yaml"
    path.write_text(EVERYTHING)
    two_nodes = Slots(nodes=2, slots_per_node=4, cpus_per_node=8, device_type="cuda", cuda_devices_per_node=4)
    runs = plan(load_suite(str(path), Selection(quick=True)), two_nodes, "s")
    assert [run.spec.run_id for run in runs[: len(runs) // 2]] == [
        "single.1x1.r0", "ddp_strong.1x1.r0", "ddp_strong.2x4.r0",
        "fsdp_weak~compile=false.1x1.r0", "fsdp_weak~compile=false.1x2.r0", "fsdp_weak~compile=false.1x4.r0",
        "fsdp_weak~compile=false.2x4.r0", "fsdp_weak~compile=true.1x1.r0", "fsdp_weak~compile=true.1x2.r0",
        "fsdp_weak~compile=true.1x4.r0", "fsdp_weak~compile=true.2x4.r0",
        "threads.1x1.t1.r0", "threads.1x1.t2.r0", "threads.1x1.t4.r0",
    ]  # fmt: skip
    assert {run.skip_reason for run in runs} == {None}
