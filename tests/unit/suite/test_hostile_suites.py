"""Bugs that fuzzing found with suites, one plain test each: an error names the place; there is no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import Slots
from bench.suite import resolve
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

CHECK = "check the path, its permissions and the free space"


def refused(folder: Path, content: str | bytes) -> str:
    """Output about a suite file."""
    path = folder / "mine.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as raised:
        load_suite(str(path))
    return str(raised.value).replace(str(folder), "")


@pytest.mark.parametrize(("text", "shown"), [("hello", '"hello"'), ("- 1", "[1]"), ("12", "12")])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, shown: str) -> None:
    assert refused(tmp_path, text) == f"/mine.yaml:1:1: the suite is {shown}: it must be a mapping"


CASE = "{name: NAME, strategy: ddp, scaling: strong, global_batch: 64, world: [1, 2]MORE}"
HEAD = "{title: x, workload: {name: spiral_mlp}, measure: {warmup: 2, steps: 6SECTION}, cases: [CASES]}"


def suite(*cases: str, section: str = "") -> str:
    return HEAD.replace("SECTION", section).replace("CASES", ",\n".join(cases))


def case(name: str, more: str = "") -> str:
    return CASE.replace("NAME", name).replace("MORE", more)


@pytest.mark.parametrize("value", ["-1", "x", "{train.seed: 3}", "{train.seed: []}"])
def test_a_matrix_that_is_set_is_a_mapping_of_lists(tmp_path: Path, value: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(suite(case("one", ", matrix: {train.seed: [1, 2]}")))
    setting = f"cases.one.matrix={value}"
    with pytest.raises(InputError) as raised:
        load_suite(str(path), Selection(settings=(setting,)))
    assert str(raised.value) == (
        f"--set {setting}: a matrix is a mapping: dotted keys, each with a list of values"
    )


def test_cases_that_multiply_are_refused_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve._MOST_CASES == 5_000
    monkeypatch.setattr(resolve, "_MOST_CASES", 900)  # making all that are allowed takes seconds
    cases = [
        case(f"c{count}", f", matrix: {{train.seed: [{', '.join(map(str, range(count)))}]}}")
        for count in (100, 70, 800)
    ]
    assert refused(tmp_path, suite(*cases)).startswith("/mine.yaml:3:1: up to here there are 970 cases of ")


def test_values_that_every_case_repeats_are_refused_before_they_are_copied(tmp_path: Path) -> None:
    """The key is known, so nothing else is wrong with its values."""
    long = ", ".join(["1"] * 20_000)
    cases = [case(f"c{number}", f", threads: [{long}]") for number in range(2)]
    text = suite(*cases, section=f", until: [{long}]")
    assert "c1" not in (said := refused(tmp_path, text)), said
    assert len(said) < 2_000


def test_of_very_many_problems_some_are_named(tmp_path: Path) -> None:
    keys = "".join(f", key{number}: 1" for number in range(5_000))
    said = refused(tmp_path, suite(case("one"), case("two"), section=keys))
    assert said.splitlines()[0] == "/mine.yaml: 200 or more problems"
    assert said.splitlines()[-1] == "  and 180 more at least"
    assert len(said.splitlines()) == 22


def test_a_long_key_is_shown_in_short(tmp_path: Path) -> None:
    assert len(refused(tmp_path, suite(case("one", f", ? {'x' * 100_000} : 1")))) < 500


def test_of_very_many_sizes_that_do_not_divide_some_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(suite(*(case(f"c{number}") for number in range(50))).replace("64", "63"))
    slots = Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu")
    with pytest.raises(InputError) as raised:
        plan(load_suite(str(path)), slots, "planned")
    assert len(str(raised.value).splitlines()) == 22


def test_a_name_that_no_file_can_have_is_an_error(tmp_path: Path) -> None:
    name = f"{'x' * 300}.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "bench", "show", name], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        2,
        f"error: {name}: File name too long: check the path, its permissions and the free space\n",
    )
