"""`bench batch`: the text that is printed; tests/e2e/cluster submits it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import bench.cli
from tests.unit.slurm.conftest import Script


def test_the_head_asks_for_what_the_call_asks_for_and_for_the_early_signal(script: Script) -> None:
    size = ["--nodes", "2", "--gpus-per-node", "4", "--cpus-per-task", "16", "--time", "1:30:00"]
    done = script(*size, "--account", "lab-1", "--partition", "gpu", "--sbatch", "--constraint=h200&ib")
    assert (done.code, done.said) == (0, "")
    assert done.head == [
        "--job-name=smoke", "--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=4", "--cpus-per-task=16",
        "--time=1:30:00", "--account=lab-1", "--partition=gpu", "--signal=B:USR1@120", "--constraint=h200&ib",
    ]  # fmt: skip


def test_the_head_of_a_short_call_says_no_more_than_it_must(script: Script) -> None:
    done = script()
    assert done.head == ["--job-name=smoke", "--nodes=1", "--ntasks-per-node=1", "--signal=B:USR1@120"]
    assert done.text.startswith("#!/bin/bash\n# bench batch smoke --image bench.sif\n")


def test_without_an_image_it_is_the_one_around_the_call_else_bench_sif(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\nimage=bench.sif\n" in script(image=None).text
    monkeypatch.setenv("APPTAINER_CONTAINER", "/images/b.sif")
    assert "\nimage=/images/b.sif\n" in script(image=None).text


def test_everything_of_the_suites_call_reaches_the_step_as_one_word_each(script: Script) -> None:
    call = [
        "--quick",
        "--case",
        "ddp_*",
        "--set",
        "data.workers=0",
        "--world",
        "1,2",
        "--tag",
        "it's $HOME; `id`",
    ]
    assert script("--cpus-per-task", "8", *call).step == [
        "--kill-on-bad-exit=0", "--wait=0", "--cpus-per-task=8",
        "${container[@]}", "$image", "bench", "suite", "smoke", *call,
        "--session", "$session", "--results", "$results", "--reserve", "180", "--no-load", "&",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", False),
        ("--gpus-per-node 0", False),
        ("--gpus-per-node 1", True),
        ("--gpus-per-node 1 --device cpu", False),
    ],
)
def test_the_driver_is_bound_where_gpus_are_asked_for(arguments: str, expected: bool, script: Script) -> None:
    assert ("--nv" in script(*arguments.split()).step) is expected


def test_odd_paths_are_quoted_and_bash_can_read_the_script(script: Script, tmp_path: Path) -> None:
    (tmp_path / "it's b o.sif").touch()
    done = script("--results", "my $results", "--data", "my data", "--session", "mine", image="it's b o.sif")
    settings = done.text.split("container=")[0]
    program = f'{settings}\nprintf \'%s\\n\' "$image" "$results" "$session"'
    printed = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == f"it's b o.sif\n{tmp_path}/my $results\nmine\n"
    assert "--bind \"$(realpath -m -- 'my data')\"" in done.text
    assert subprocess.run(["bash", "-n"], input=done.text, text=True, check=False).returncode == 0


@pytest.mark.parametrize("more", [[], ["--image", "other.sif", "--rounds", "3"]], ids=["one", "two"])
def test_shellcheck_finds_nothing(
    more: list[str], script: Script, require_program: Callable[[str], str]
) -> None:
    shellcheck = require_program("shellcheck")
    odd = ["--results", "my results", "--data", "it's data", "--tag", "a; b", "--gpus-per-node", "1"]
    for arguments in ([], odd):
        text = script(*more, *arguments).text
        done = subprocess.run([shellcheck, "-"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")


def test_the_folder_of_a_suite_file_is_bound(script: Script, tmp_path: Path) -> None:
    shipped = Path(bench.cli.__file__).parents[2] / "suites/smoke.yaml"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/wide.yaml").write_bytes(shipped.read_bytes())
    done = script(suite="mine/wide.yaml")
    assert done.head[0] == "--job-name=wide"
    assert '\ncontainer=(apptainer exec --bind "$results" --bind "$(realpath -m -- mine)")\n' in done.text


def test_the_sessions_name_is_fixed_in_the_script(script: Script) -> None:
    assert re.search(r"^session=\d{8}T\d{6}Z-smoke-[0-9a-f]{4}$", script().text, re.MULTILINE)


def test_an_image_that_is_not_here_is_a_warning_in_the_script_and_beside_it(script: Script) -> None:
    done = script(image="/images/b.sif")
    assert done.code == 0
    assert (
        "\n# Where this was written there was no /images/b.sif: check the path.\nimage=/images/b.sif\n"
        in done.text
    )
    assert done.said == "bench: /images/b.sif does not exist here: check the path in the script\n"


@pytest.mark.parametrize("time", ["4", "90", "5:00", "1:30:00", "1-12", "1-12:30", "2-00:00:00"])
def test_a_time_as_slurm_writes_it_is_taken(time: str, script: Script) -> None:
    assert f"--time={time}" in script("--time", time).head


def test_a_longer_warning_time_is_taken(script: Script) -> None:
    assert script("--sbatch", "--signal=B:USR1@600").head[-1] == "--signal=B:USR1@600"


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--time", "1h", "--time 1h: Slurm writes times as"),
        ("--time", "3", "--time 3: the last 2 to 3 minutes are kept for a clean end: ask for more than 3"),
        ("--time", "0:02:00", "are kept for a clean end"),
        ("--account", "my lab", "--account 'my lab': Slurm's names are"),
        ("--partition", "a\nb", "has a line break"),
        ("--sbatch", "mail=me", "--sbatch 'mail=me': not an option of sbatch"),
        ("--sbatch", "--mem=0\nrm -r results", "has a line break"),
        ("--sbatch", "--nodes=3", "--sbatch '--nodes=3': say it with --nodes"),
        ("--sbatch", "--comment=two words", "sbatch ends the value at the space: quote it"),
        ("--sbatch", "--comment='two words", "sbatch ends the value at the space: quote it"),
        ("--sbatch", "-t 30", "say it with --time"),
        ("--sbatch", "--signal=TERM@60", "the script needs B:USR1@SECONDS"),
        ("--tag", "a\nb", "has a line break"),
        ("--session", "a b", "session 'a b' is not a valid session name"),
        ("--results", "a,b", "--results a,b: Apptainer's --bind splits paths"),
        ("--image", "docker://debian", "`apptainer pull bench.sif docker://debian` first"),
        ("--case", "none*", "none*"),
        ("--nodes", "0", "'--nodes'"),
    ],
)
def test_what_slurm_or_apptainer_would_refuse_is_refused_here(
    option: str, value: str, said: str, script: Script
) -> None:
    done = script(option, value)
    assert (done.code, done.text, said in done.said) == (2, "", True), done.said


def test_an_unknown_suite_is_refused(script: Script) -> None:
    done = script(suite="smokey")
    assert (done.code, "unknown suite 'smokey'" in done.said) == (2, True)
