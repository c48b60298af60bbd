"""`bench batch` with two images: the text that is printed; tests/e2e/cluster submits it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.unit.slurm.conftest import Script

STEP = [
    "--kill-on-bad-exit=0", "--wait=0", "${container[@]}", "$image", "bench", "suite", "smoke", "--quick",
]  # fmt: skip
ENDING = ["--session", "$session", "--results", "$results", "--reserve", "180", "--no-load", "&"]


def test_each_step_is_a_session_of_one_repeat_that_carries_its_sides_tag(script: Script) -> None:
    done = script("--image", "other.sif", "--quick")
    assert done.step == [*STEP, "--repeats", "1", "--tag", "$name-$1", *ENDING]


def test_repeats_and_tags_of_ones_own_are_kept(script: Script) -> None:
    done = script("--image", "other.sif", "--quick", "--repeats", "3", "--tag", "mine")
    assert done.step == [*STEP, "--repeats", "3", "--tag", "mine", "--tag", "$name-$1", *ENDING]


def test_the_order_is_swapped_in_every_other_round_and_the_first_image_is_the_baseline(
    script: Script, tmp_path: Path
) -> None:
    (tmp_path / "it's b.sif").touch()
    done = script("--image", "it's b.sif", "--rounds", "4", "--session", "ab")
    assert (done.code, done.said) == (0, "")
    # the script's own loop, with a line in place of each session
    begin = re.search(r"^declare -A images=.*\n(?:.*\n){2}rounds=4\n", done.text, re.MULTILINE)
    loop = done.text[done.text.index("worst=0\n") : done.text.index("# Also after failed runs")]
    assert begin is not None
    told = 'stopped=\nmeasure() { echo "$name-$1-r$2 ${images[$1]}"; code=0; }\n'
    ran = subprocess.run(
        ["bash", "-euc", begin[0] + told + loop], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    a, b = "bench.sif", "it's b.sif"
    assert ran.stdout.splitlines() == [
        f"ab-a-r1 {a}", f"ab-b-r1 {b}", f"ab-b-r2 {b}", f"ab-a-r2 {a}",
        f"ab-a-r3 {a}", f"ab-b-r3 {b}", f"ab-b-r4 {b}", f"ab-a-r4 {a}",
    ]  # fmt: skip
    assert '"${bench[@]}" compare "tag:$name-a" "tag:$name-b" --results "$results"\n' in done.text


@pytest.mark.parametrize(
    ("codes", "measured", "code"),
    [
        ({"a-r1": 1}, 4, 1),  # a run failed: the others count
        ({"b-r1": 2}, 2, 2),  # no session can begin
        ({"b-r2": 143}, 3, 143),  # stopped
    ],
)
def test_a_session_that_could_not_run_or_was_stopped_is_the_last(
    codes: dict[str, int], measured: int, code: int, script: Script
) -> None:
    text = script("--image", "bench.sif", "--rounds", "2").text
    loop = text[text.index("worst=0\n") : text.index("# Also after failed runs")]
    cases = "".join(f"{name}) code={value} ;; " for name, value in codes.items())
    told = f"rounds=2 stopped=\nmeasure() {{ echo; case $1-r$2 in {cases}*) code=0 ;; esac; }}\n"
    ran = subprocess.run(
        ["bash", "-uc", told + loop + 'exit "$worst"'], capture_output=True, text=True, check=False
    )
    assert (ran.stdout.count("\n"), ran.returncode) == (measured, code)


def test_bash_can_read_the_script_and_each_missing_image_is_told(script: Script) -> None:
    done = script("--image", "b c.sif", "--image", "d.sif", image="a.sif")
    assert (done.code, "--image is given 3 times: a comparison has two sides" in done.said) == (2, True)
    done = script("--image", "b c.sif", image="a.sif")
    assert subprocess.run(["bash", "-n"], input=done.text, text=True, check=False).returncode == 0
    assert done.said.splitlines() == [
        f"bench: {name} does not exist here: check the path in the script" for name in ("a.sif", "b c.sif")
    ]


def test_an_image_can_be_compared_with_itself(script: Script) -> None:
    assert "declare -A images=([a]=bench.sif [b]=bench.sif)" in script("--image", "bench.sif").text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--rounds 3", "--rounds needs two images"),
        ("--image bench.sif --rounds 1", "'--rounds'"),
        (f"--image bench.sif --session {70 * 's'}", "has 72 characters: shorten it to 64"),
        (f"--tag {65 * 't'}", "has 65 characters: shorten it to 64"),
    ],
)
def test_what_would_fail_in_the_job_is_refused_before(arguments: str, said: str, script: Script) -> None:
    done = script(*arguments.split())
    assert (done.code, done.text, said in done.said) == (2, "", True), done.said
