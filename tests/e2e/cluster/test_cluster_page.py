"""Every cluster command in README.md and docs/cluster.md runs on a cluster as written, except for its size."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.documents import needs_a_cluster, shown_commands

SMALLER = {
    # two images have one repeat by default
    "batch ddpm_scaling --image old.sif": "batch smoke --quick --case single --image old.sif",
    "ddpm_scaling ": "smoke --quick --repeats 1 --case ddp_strong ",
    "--rounds 5": "--rounds 2",
    # all that the commands before have measured would take a minute
    "job=$(sbatch": "mkdir few && cp -r $(ls -d results/*/ | head -2) few && job=$(sbatch",
    "per_session.sh results": "per_session.sh few",
    "--array=0-99": "--array=0-1",
    "--cpus-per-task 32": "--cpus-per-task 2",
    "--cpus-per-task=32": "--cpus-per-task=2",
    # these GPUs are device files without a driver; the doctor reports that and fails
    "srun --gpus 1 apptainer exec --nv bench.sif bench doctor": "srun apptainer exec bench.sif bench doctor",
}
"""Command in the document -> command to run."""
BUILDS = "apptainer build"
"""ci/image makes it from the same file: test_images.py."""
COMMANDS = [
    command for command in shown_commands() if needs_a_cluster(command) and not command.startswith(BUILDS)
]

LOGIN_BENCH = r"""
set -e
offset=$(apptainer sif list {image} 2> /dev/null | sed -nE 's/.*\|([0-9]+)-.*Squashfs.*/\1/p')
mkdir -p /opt/image /opt/bench/bin /opt/bench/lib/python3.11/site-packages
squashfuse -o allow_other,offset="$offset" {image} /opt/image
cp --symbolic-link --no-clobber /opt/image/usr/lib/x86_64-linux-gnu/*.so.* /usr/lib/x86_64-linux-gnu/ || true
ln -sf /opt/image/usr/bin/python3.11 /opt/bench/bin/python3
printf 'home = /opt/image/usr/bin\nversion = 3.11\n' > /opt/bench/pyvenv.cfg
printf '/scalebench\n/opt/image/opt/scalebench/.venv/lib/python3.11/site-packages\n' \
    > /opt/bench/lib/python3.11/site-packages/bench.pth
printf '#!/opt/bench/bin/python3\nfrom bench.cli import main\nmain()\n' > /usr/local/bin/bench
chmod +x /usr/local/bin/bench
"""
"""A login node with its own `bench`: the checkout, with Python and packages from the image."""


@pytest.fixture(scope="module")
def login_bench(cluster: Any, image: str) -> Iterator[None]:
    done = cluster.run(LOGIN_BENCH.replace("{image}", shlex.quote(image)), timeout=60, root=True)
    assert done.returncode == 0, done.stderr
    yield
    cluster.run("umount /opt/image", timeout=60, root=True)


@pytest.fixture(scope="module")
def folder(cluster: Any, image: str) -> str:
    """Folder for the commands, with per_session.sh and bench.sif; old.sif is a copy of bench.sif."""
    inside = "/results/page"
    links = " && ".join(f"ln -sfn {shlex.quote(image)} {inside}/{name}.sif" for name in ("bench", "old"))
    links += f" && ln -sfn /scalebench/docs/examples/per_session.sh {inside}"
    done = cluster.run(f"mkdir -p {inside} && {links}", timeout=30)
    assert done.returncode == 0, done.stderr
    return inside


@pytest.mark.usefixtures("login_bench")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_for_a_cluster_works_there(command: str, cluster: Any, folder: str) -> None:
    for shown, run in SMALLER.items():
        command = f"{command} ".replace(shown, run).strip()
    done = cluster.run(f"cd {folder} && set -o pipefail && {command}", timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    if job := re.search(r"Submitted batch job (\d+)", done.stdout):
        assert ended_well(job[1], cluster, Path(folder)) == "COMPLETED"


def ended_well(job: str, cluster: Any, folder: Path) -> str:
    """Wait for a batch job's end and return its state; return its output if the state is bad."""
    waited = (
        f"while squeue --noheader --job {job} | grep -q .; do sleep 0.2; done; scontrol -o show job {job}"
    )
    state = re.search(r"JobState=(\w+)", cluster.run(waited, timeout=600).stdout)
    assert state is not None
    return state[1] if state[1] == "COMPLETED" else str(cluster.run(f"cat {folder}/slurm-{job}.out").stdout)


def test_the_three_ways_to_run_are_among_them() -> None:
    first_words = {shlex.split(command)[0] for command in COMMANDS}
    assert {"apptainer", "srun", "sbatch", "bench"} <= first_words
