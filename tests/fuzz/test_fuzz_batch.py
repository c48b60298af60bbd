"""With any words, `bench batch` prints a job that hands them on unchanged, or gives one error. Nothing else is run.

bash runs the job, with stubs for Slurm's and Apptainer's programs that write down their arguments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.called import called
from tests.fuzz.mutation import ODD_TEXTS

FRAGMENTS = (
    "$(touch ran)", "`touch ran`", ";touch ran;", "|touch ran", "&touch ran&", "\ntouch ran\n", "$HOME", "${x}",
    "%image", "%{step}", "%%", "'", '"', "\\", " ", "\t", "#", "#SBATCH --wrap=x", "!", "*", "?", "[a]", "{a,b}", "~",
    "<(touch ran)", ">ran", "<ran", "--", "-", "=", "a", "\r", "\x0b", "\x85", "\u2028", "\u202e", "\ud800", "\x00",
    "é", "EOF", "$'\\x27'",
)  # fmt: skip
WORDS = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=5).map("".join),
    st.sampled_from(ODD_TEXTS),
    st.text(min_size=1, max_size=20),
)
BESIDE = WORDS.filter(lambda text: not text.startswith("/") and ".." not in text)
"""Below the folder of submission: a job makes its results folder."""
OTHERS = st.dictionaries(
    st.sampled_from(
        ["--data", "--image", "--session", "--case", "--set", "--world", "--account", "--partition", "--time",
         "--sbatch"]
    ),
    WORDS,
    max_size=2,
)  # fmt: skip
COMMENTS = st.one_of(st.none(), WORDS.map("--comment={}".format))
STUB = """#!/bin/bash
printf '%s\\0' "${0##*/}" "$@" $'\\n' >> "$CALLS"
"""


class Cluster:
    """A folder to submit from, and programs that only write down their words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "submitted from"
        self.calls = folder / "calls"
        programs = folder / "programs"
        for path in (self.folder, programs):
            path.mkdir()
        for name in ("srun", "apptainer", "scontrol", "sacct"):
            (programs / name).write_text(STUB)
            (programs / name).chmod(0o755)
        (self.folder / "bench.sif").touch()
        self._environment = {
            "PATH": f"{programs}:/usr/bin:/bin", "CALLS": str(self.calls), "SLURM_JOB_ID": "7", "LC_ALL": "C.UTF-8",
            "HOME": str(folder),
        }  # fmt: skip

    def submit(self, script: str) -> list[list[str]]:
        """The words of each call of a program."""
        self.calls.write_bytes(b"")
        content = script.encode("utf-8", "surrogateescape")
        subprocess.run(
            ["bash"], input=content, env=self._environment, cwd=self.folder, check=False, timeout=60
        )
        told = self.calls.read_bytes().decode("utf-8", "surrogateescape")
        return [call.split("\0") for call in told.split("\0\n\0")[:-1]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return Cluster(tmp_path_factory.mktemp("cluster"))


@settings(max_examples=40)
@given(
    tag=WORDS,
    folder=st.one_of(st.just("results"), BESIDE),
    others=OTHERS,
    comment=COMMENTS,
    two=st.booleans(),
)
def test_a_job_of_odd_words_hands_them_on_and_runs_nothing_else(
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    *,
    tag: str,
    folder: str,
    others: dict[str, str],
    comment: str | None,
    two: bool,
) -> None:
    monkeypatch.chdir(cluster.folder)
    images = ["bench.sif"] * (1 + two) if "--image" not in others else []
    words = [word for option, value in others.items() for word in (option, value)]
    words += ["--sbatch", comment] if comment else []
    words += [word for image in images for word in ("--image", image)]
    done = called("batch", "smoke", f"--tag={tag}", f"--results={folder}", *words)
    if done.code:
        assert not done.out
        return
    head = done.out.partition("\nset -u\n")[0].split("\n")
    assert [line for line in head if line and not line.startswith("#")] == []
    before = set(cluster.folder.iterdir())
    steps = [call for call in cluster.submit(done.out) if call[0] == "srun"]
    made = set(cluster.folder.iterdir()) - before
    assert not [path for path in made if path.name.startswith("ran") and path.is_file()]
    if images and (cluster.folder / folder).is_dir():
        assert steps
        assert all(step[step.index("--tag") + 1] == tag for step in steps)
        assert all(step[step.index("--bind") + 1] == str(cluster.folder / folder) for step in steps)
