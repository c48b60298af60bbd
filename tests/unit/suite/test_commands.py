"""bench list and bench show: through the command line, with what it prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import group
from bench.common.errors import InputError
from bench.suite.find import find, listed

SHIPPED = [path.stem for path in (Path(__file__).parents[3] / "suites").glob("*.yaml")]
TINY = """\
title: "Tiny: a suite"
why: Does it print?
workload: {name: spiral_mlp}
measure: {warmup: 1, steps: 10, repeats: 2, timeout_s: 30}
cases:
  - {name: one, strategy: single, scaling: none, batch_per_rank: 8, world: [1], device: cpu}
  - {name: many, strategy: ddp, scaling: weak, batch_per_rank: 8, world: [1, 1000], device: cpu}
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "tiny.yaml").write_text(TINY)


def test_list_shows_shipped_suites_and_those_of_the_folder_with_titles() -> None:
    result = CliRunner().invoke(group, ["list"])
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.output.splitlines())
    assert lines["tiny"] == "Tiny: a suite"
    assert set(lines) >= {"smoke", "ddpm_scaling", "tiny"}


def test_list_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom bench.cli import group\ngroup.main(['list'], standalone_mode=False)\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & set(sys.argv[1:])))"
    )
    heavy = ["pydantic", "torch", "numpy", "duckdb", "polars", "altair", "pyarrow", "rich", "psutil"]
    done = subprocess.run([sys.executable, "-c", program, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("cases: [{title: inner}]\ntitle: >\n  folded\n  text\n", "folded text"),
        ("a: &x 1\nb: *x\ntitle: after an alias", "after an alias"),
        ("why: none", "(no title)"),
        ("a: [1", "(cannot be read; `bench show` says why)"),
        ("title: \x07", "(cannot be read; `bench show` says why)"),
    ],
)
def test_a_title_is_found_without_checking_the_suite(text: str, title: str) -> None:
    Path("suites/odd.yaml").write_text(text)
    assert {suite.name: suite.title for suite in listed()}["odd"] == title


def test_a_suite_in_the_folder_hides_the_shipped_one_of_its_name() -> None:
    shipped = find("smoke")
    Path("suites/smoke.yaml").write_text(TINY)
    assert shipped != find("smoke") == Path("suites/smoke.yaml")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "smok",
            f"unknown suite 'smok': did you mean smoke? There are {', '.join(sorted([*SHIPPED, 'tiny']))}; "
            "or give the path",
        ),
        ("no/such.yaml", "no/such.yaml is not a file; `bench list` shows the suites"),
        ("suites", "unknown suite 'suites'"),
    ],
)
def test_an_unknown_suite_is_answered_with_the_nearest_name(name: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        find(name)
    assert str(raised.value).startswith(message)


def test_a_file_whose_name_cannot_name_a_session_is_refused() -> None:
    Path("my suite.yaml").write_text(TINY)
    with pytest.raises(InputError, match=r"my suite\.yaml: the file's name becomes the suite's: rename it"):
        find("my suite.yaml")


def test_show_prints_why_the_protocol_and_the_plan_on_this_machine() -> None:
    result = CliRunner().invoke(group, ["show", "tiny"])
    assert result.exit_code == 0
    assert result.output == (
        "tiny: Tiny: a suite\n"
        "\n"
        "Does it print?\n"
        "\n"
        "spiral_mlp on synthetic data, fp32, adamw: 10 steps after 1 of warm-up, 2 repeats\n"
        "\n"
        "case  strategy  scaling  ranks  threads  batch/rank  global batch  runs\n"
        "one   single    none         1        1           8             8     2\n"
        "many  ddp       weak         1        1           8             8     2\n"
        "many  ddp       weak      1000        1           8          8000     2"
        "  skipped: needs 1000 slots, this machine has 2\n"
        "\n"
        "some sizes need more slots: --oversubscribe runs it anyway, marked\n"
        "4 runs, 2 skipped; at most 2 min 00 s by their timeouts\n"
    )


@pytest.mark.parametrize("command", [["show", "tiny"], ["suite", "tiny", "--dry-run"]])
def test_quick_without_such_a_section_says_so(command: list[str]) -> None:
    result = CliRunner().invoke(group, [*command, "--quick"])
    assert result.exit_code == 0
    assert result.stderr == "bench: tiny has no section `quick`: with --quick it is run whole\n"


def test_show_takes_the_wishes_that_suite_takes() -> None:
    wishes = ["--case", "many", "--set", "cases.many.world=[2, 4]", "--repeats", "1", "--oversubscribe"]
    result = CliRunner().invoke(group, ["show", "suites/tiny.yaml", *wishes])
    rows = [line.split() for line in result.output.splitlines() if line.startswith("many")]
    assert rows == [
        ["many", "ddp", "weak", "2", "1", "8", "16", "1"],
        ["many", "ddp", "weak", "4", "1", "8", "32", "1", "oversubscribed"],
    ]


def test_a_plan_is_estimated_from_the_same_runs_measured_earlier() -> None:
    from bench.machine.slots import detect
    from bench.plan.plan import plan
    from bench.suite.resolve import load_suite
    from bench.suite.selection import Selection

    planned = plan(load_suite("tiny", Selection(repeats=9)), detect(), "earlier")
    for seconds, run in zip(
        (4.0, 2.0, 3.0), [run for run in planned if run.spec.case_name == "one"], strict=False
    ):
        folder = Path("results", "earlier", run.spec.run_id)
        folder.mkdir(parents=True)
        outcome = {"status": "ok", "elapsed_s": seconds}
        (folder / "run.json").write_text(json.dumps({"spec": run.spec.to_json(), "outcome": outcome}))
    damaged = Path("results", "earlier", "damaged")
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    result = CliRunner().invoke(group, ["show", "tiny"])
    assert result.output.splitlines()[-1] == "2 of 4 were measured here before: about 6 s for those"
    other = CliRunner().invoke(group, ["show", "tiny", "--set", "train.precision=bf16"])
    assert "measured here before" not in other.output


def test_a_trace_takes_as_long_as_its_profiled_steps_do_without_one() -> None:
    from bench.machine.slots import detect
    from bench.plan.estimate import key
    from bench.plan.plan import plan
    from bench.suite.resolve import load_suite
    from bench.suite.selection import Selection

    def keys(asked: str, *, trace: bool) -> list[str]:
        chosen = Selection(settings=(f"measure.profiled={asked}",))
        return [key(run.spec) for run in plan(load_suite("tiny", chosen), detect(), "one", trace=trace)]

    assert keys("4", trace=True) == keys("4", trace=False)
    assert keys("4", trace=False) != keys("0", trace=False)


def test_a_wrong_suite_ends_with_2_and_its_place() -> None:
    Path("suites/tiny.yaml").write_text(TINY.replace("warmup", "warmpu"))
    done = subprocess.run(
        [sys.executable, "-m", "bench", "show", "tiny"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        r"error: suites/tiny\.yaml:4:11: unknown key 'warmpu' in measure; did you mean warmup\?\n",
        done.stderr,
    )
