"""The command that tries a remedy."""

from __future__ import annotations

import pytest

from analysis.diagnosis.try_command import FLAGS, command
from bench.cli.run import command as run
from bench.cli.suite import command as suite

KNOB = "--set cases.small.global_batch=256"


def session(*words, imported=None):
    return {"command": [".venv/bin/bench", *words], "suite": "text_scaling", "imported": imported}


@pytest.mark.parametrize(
    ("words", "options", "line"),
    [
        (
            ["suite", "text_scaling", "--quick", "--world", "1,2", "--session", "before"],
            KNOB,
            "bench suite text_scaling --quick --world 1,2 --set cases.small.global_batch=256",
        ),
        (
            ["suite", "my own.yaml", "--session=a", "--results=r 1", "--no-load", "--json", "--tag", "main"],
            KNOB,
            "bench suite 'my own.yaml' --results 'r 1' --set cases.small.global_batch=256",
        ),
        (
            ["suite", "text_scaling", "--repeats", "3", "--set", "data.workers=0", "--set=train.seed=1"],
            "--repeats 8 --set data.workers=4",
            "bench suite text_scaling --set train.seed=1 --repeats 8 --set data.workers=4",
        ),
        (
            ["suite", "text_scaling", "--set", "measure.repeats=3", "--set", "train.seed=1"],
            "--repeats 8",
            "bench suite text_scaling --set train.seed=1 --repeats 8",
        ),
        (
            ["suite", "text_scaling", "--repeats", "3"],
            "--set measure.repeats=8",
            "bench suite text_scaling --set measure.repeats=8",
        ),
        (
            ["suite", "--resume", "s", "--results", "r"],
            KNOB,
            "bench suite text_scaling --results r --set cases.small.global_batch=256",
        ),
        (
            ["suite", "text_scaling", "--quick", "--results", "r"],
            "--resume 's 1'",
            "bench suite --results r --resume 's 1'",
        ),
        (
            ["suite", "text_scaling"],
            "--set 'cases.a;b.world=1'",
            "bench suite text_scaling --set 'cases.a;b.world=1'",
        ),
        (["run", "text_scaling", "--quick"], KNOB, f"bench suite text_scaling --quick {KNOB}"),
    ],
)
def test_it_is_the_sessions_own_with_what_the_remedy_adds(words, options, line):
    assert command(session(*words), options) == line


def test_a_flag_takes_no_other_option_with_it():
    for flag in FLAGS:
        assert (command(session("suite", "text_scaling", flag, "--repeats", "2"), "--repeats 6") or "").count(
            "--repeats"
        ) == 1


def test_every_flag_of_the_command_is_known():
    names = [
        {*option.opts, *option.secondary_opts}
        for option in (*suite.params, *run.params)
        if getattr(option, "is_flag", False)
    ]
    assert set().union(*names) - {"-h", "--help"} == FLAGS


@pytest.mark.parametrize("options", [None, "", "--set 'train.seed=1"])
def test_there_is_none_where_no_option_helps(options):
    assert command(session("suite", "text_scaling"), options) is None


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--world", "1,2", "--", "python", "t.py"],  # KNOB is of a suite
        ["run", "python", "t.py"],
        ["import", "text_scaling"],
    ],
)
def test_there_is_none_without_a_suite(words):
    assert command(session(*words), KNOB) is None


ALONE = f"bench suite text_scaling --case small {KNOB}"


@pytest.mark.parametrize(
    ("cases", "options", "line"),
    [
        (["small", "large"], KNOB, ALONE),
        (["small~lr=1", "small~lr=2", "large"], KNOB, ALONE),
        (["small"], KNOB, f"bench suite text_scaling {KNOB}"),
        (["small~lr=1", "small~lr=2"], KNOB, f"bench suite text_scaling {KNOB}"),
        (["small", "large"], "--set train.seed=1", "bench suite text_scaling --set train.seed=1"),
        (
            ["small", "large"],
            f"{KNOB} --set train.seed=1",
            f"bench suite text_scaling {KNOB} --set train.seed=1",
        ),
        (
            ["a", "a.b"],
            "--set cases.a.b.world=1",
            "bench suite text_scaling --case a.b --set cases.a.b.world=1",
        ),
        (
            ["[a]", "b"],
            "--set 'cases.[a].world=1'",
            "bench suite text_scaling --case '[[]a]' --set 'cases.[a].world=1'",
        ),
    ],
)
def test_only_the_case_that_is_changed_runs_again(cases, options, line):
    assert command(session("suite", "text_scaling"), options, cases) == line


def test_the_cases_of_the_session_give_way_to_the_one_that_is_changed():
    chosen = session("suite", "text_scaling", "--case", "sm*", "--case=large")
    assert command(chosen, KNOB, ["small", "large"]) == ALONE


def test_there_is_none_of_what_was_measured_elsewhere():
    assert (
        command(session("import", "a.csv", "--suite", "text_scaling", imported={"files": []}), KNOB) is None
    )
    assert command({"command": [], "suite": "text_scaling", "imported": None}, KNOB) is None


def test_a_program_without_arguments_is_no_suite():
    assert command(session("run", "./train.sh"), "--repeats 5") is None


def test_the_session_of_a_command_is_resumed_where_its_results_are():
    script = session(
        "run", "--world", "1,2", "--results", "r", "--", "python", "t.py", "--results", "of_the_script"
    )
    assert command(script, "--resume S") == "bench run --results r --resume S"


@pytest.mark.parametrize(
    ("words", "options", "line"),
    [
        (
            ["--world", "1,2", "--repeats", "3", "--", "python", "my train.py", "--repeats", "9"],
            "--repeats 8",
            "bench run --world 1,2 --repeats 8 -- python 'my train.py' --repeats 9",
        ),
        (
            ["--timeout=8", "--isolate", "python", "train.py"],
            "--set measure.timeout_s=16",
            "bench run --isolate --timeout 16 -- python train.py",
        ),
        (
            ["--session", "s", "--warmup", "3", "--", "./train"],
            "--set cases.command.measure.warmup=10",
            "bench run --warmup 10 -- ./train",
        ),
        (["text_scaling"], "--set measure.profiled=4", "bench run --set measure.profiled=4 -- text_scaling"),
        (["--json", "python", "train.py"], "--resume s", "bench run --resume s"),
        (["--", "python", "train.py"], "--set cases.command.threads=2", None),
        (["--", "python", "train.py"], "--trace", None),
    ],
)
def test_a_command_is_measured_again_with_the_options_of_bench_run(words, options, line):
    assert command(session("run", *words), options, ["command"]) == line
