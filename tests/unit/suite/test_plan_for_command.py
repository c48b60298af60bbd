"""bench suite --plan-for: through the command line, from a session that the factory made."""

from __future__ import annotations

import functools
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis.errors import AnalysisError
from analysis.loading.load import load
from bench.cli import group
from bench.common.errors import InputError
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from tests.factory import Case, make_session

SUITE = """\
title: "Tiny: a suite"
why: Is it planned?
workload: {name: spiral_mlp}
measure: {warmup: 2, steps: 40, repeats: 2, timeout_s: 60}
cases:
  - {name: one, strategy: single, scaling: none, batch_per_rank: 8, world: [1], device: cpu}
  - {name: many, strategy: ddp, scaling: weak, batch_per_rank: 8, world: [1, 2, 4], device: cpu}
"""
STEP_MS = {1: (50.0, 51.0, 50.2), 2: (52.0, 52.6, 52.8), 4: (55.0, 57.0, 55.5)}
PILOT = "20261121T014925Z-tiny-3f9a"
MakePilot = Callable[..., None]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(SUITE)


@functools.cache
def _loaded(empty: Path, folder: Path, rounds: int) -> Path:
    """A results folder with a session of this many rounds in its database."""
    results = Path(shutil.copytree(empty, folder / f"{rounds} rounds"))
    step_ms = {size: times[:rounds] for size, times in STEP_MS.items()}
    cases = [
        Case(name="one", strategy="single", scaling="none", step_ms={1: step_ms[1]}, repeats=rounds),
        Case(name="many", scaling="weak", step_ms=step_ms, steps=40, jitter=0.02, repeats=rounds),
    ]
    make_session(results, cases, session_id=PILOT, suite="tiny")
    load(results)
    return results


@pytest.fixture(scope="module")
def loaded(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    return functools.partial(_loaded, empty, tmp_path_factory.mktemp("pilots"))


@pytest.fixture
def make_pilot(loaded: Callable[[int], Path], tmp_path: Path) -> MakePilot:
    """`make_pilot()` puts a session of the suite, in its database, into the folder `results`."""

    def make(*, rounds: int = 3, **selection: object) -> None:
        results = Path(shutil.copytree(loaded(rounds), tmp_path / "results"))
        path = results / PILOT / "session.json"  # the plan reads the resolved suite there
        resolved = load_suite("./tiny.yaml", Selection(**selection)).to_json()  # type: ignore[arg-type]
        path.write_text(json.dumps(json.loads(path.read_text()) | {"resolved": resolved}))

    return make


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(group, ["suite", "./tiny.yaml", *arguments])


def test_the_plan_names_its_numbers_its_pilot_and_the_command(make_pilot: MakePilot) -> None:
    make_pilot()
    result = ask("--plan-for", "5%")
    assert (result.exit_code, result.exception) == (0, None)
    lines = result.output.splitlines()
    assert lines[0].startswith("To know the efficiency of every size within 5 %")
    assert max(map(len, lines)) <= 80
    cheapest, more, as_it_is = (
        next(line.split() for line in lines if line.startswith(name))
        for name in ("cheapest", "more", "suite as")
    )
    steps, rounds = cheapest[1:3]
    assert (more[3], as_it_is[4:6]) == ("40", ["40", "2"])
    assert f"From {PILOT}, 3 rounds" in result.output
    assert [line.split()[:2] for line in lines if line.startswith(("one", "many"))] == [
        ["many", "1x1"], ["many", "1x2"], ["many", "1x4"], ["one", "1x1"]
    ]  # fmt: skip
    command = shlex.split(lines[-1])
    assert command[1:] == ["suite", "./tiny.yaml", "--repeats", rounds, "--set", f"measure.steps={steps}"]


def test_the_printed_duration_is_that_of_all_runs(make_pilot: MakePilot) -> None:
    make_pilot()
    answer = json.loads(ask("--plan-for", "5%", "--json").output)
    plan, sizes = answer["plan"], answer["pilot"]["sizes"]
    assert plan["seconds"] == pytest.approx(
        sum(plan["rounds"] * (size["start_s"] + plan["steps"] * size["step_s"]) for size in sizes)
    )
    assert len(sizes) == 4
    assert answer["suite_as_it_is"]["rounds"] == 2


def test_the_command_keeps_the_options_and_replaces_the_numbers(make_pilot: MakePilot) -> None:
    make_pilot(settings=("train.learning_rate=0.01",))
    result = ask(
        "--set", "train.learning_rate=0.01", "--set", "measure.steps=70", "--repeats", "4", "--tag", "a b",
        "--plan-for", "0.05",
    )  # fmt: skip
    words = shlex.split(result.output.splitlines()[-1])[3:]
    assert words[:2] == ["--tag", "a b"]
    assert words[4:6] == ["--set", "train.learning_rate=0.01"]
    assert words.count("--repeats") == 1
    assert [word for word in words if word.startswith("measure.steps=")] == words[-1:]


def test_without_a_pilot_the_command_that_measures_one_is_named(make_pilot: MakePilot) -> None:
    with pytest.raises(InputError, match=r"`.*suite \./tiny\.yaml --repeats 3` measures one"):
        _raise(ask("--plan-for", "2%"))
    make_pilot()
    with pytest.raises(InputError, match="there is none in results"):
        _raise(ask("--plan-for", "2%", "--set", "train.learning_rate=0.01"))


def test_a_pilot_of_one_round_is_too_short(make_pilot: MakePilot) -> None:
    make_pilot(rounds=1)
    with pytest.raises(InputError, match=f"{PILOT}, .* has fewer"):
        _raise(ask("--plan-for", "2%"))


def test_a_pilot_that_is_not_loaded_must_be_loaded(make_pilot: MakePilot, tmp_path: Path) -> None:
    make_pilot()
    (tmp_path / "results" / "results.duckdb").unlink()
    with pytest.raises(AnalysisError, match="bench load"):
        _raise(ask("--plan-for", "2%"))


def test_a_width_that_is_out_of_reach_gets_one_that_is_not(make_pilot: MakePilot) -> None:
    make_pilot()
    with pytest.raises(InputError, match=r"0\.1 % cannot be reached in 100 rounds") as caught:
        _raise(ask("--plan-for", "0.1%"))
    advised = str(caught.value).partition("--plan-for ")[2].partition(". ")[0]
    assert ask("--plan-for", advised).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plan-for", "0%"], "an interval has a width"),
        (["--plan-for", "2%", "--resume", "s"], "without --resume"),
        (["--plan-for", "2%", "--set", "measure.steps=null", "--set", "measure.epochs=1"], "measure.epochs"),
        (["--plan-for", "2%", "--set", "workload.name=matmul"], "measures the machine"),
    ],
)
def test_what_cannot_be_planned_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _raise(ask(*arguments))


def _raise(result: Result) -> None:
    assert result.exception is not None, result.output
    raise result.exception


def test_a_suite_with_a_stopping_rule_finds_the_pilot_that_was_measured_without(
    make_pilot: MakePilot, tmp_path: Path
) -> None:
    rule = "until_efficiency: 5%, max_repeats: 20, timeout_s: 60}"
    (tmp_path / "tiny.yaml").write_text(SUITE.replace("timeout_s: 60}", rule))
    make_pilot(repeats=3)
    result = ask("--plan-for", "5%")
    assert result.exception is None
    as_it_is = next(line for line in result.output.splitlines() if line.startswith("suite as"))
    assert as_it_is.split()[4:6] == ["40", "5"]


def test_a_time_limit_that_no_plan_keeps_is_named_with_one_that_is_enough(
    make_pilot: MakePilot, tmp_path: Path
) -> None:
    (tmp_path / "tiny.yaml").write_text(SUITE.replace("timeout_s: 60", "timeout_s: 1"))
    make_pilot()
    error = ask("--plan-for", "5%").exception
    assert isinstance(error, InputError)
    enough = str(error).rpartition("measure.timeout_s=")[2]
    assert ask("--plan-for", "5%", "--set", f"measure.timeout_s={enough}").exception is None


def test_the_command_begins_a_session_of_its_own(make_pilot: MakePilot) -> None:
    make_pilot()
    result = ask("--plan-for", "5%", "--session", PILOT)
    assert "--session" not in result.output.splitlines()[-1]
