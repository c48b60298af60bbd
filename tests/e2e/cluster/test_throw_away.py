"""The cluster that other tests run on behaves as a real one, and nothing of it outlives its command."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.e2e.cluster.conftest import Cluster, require_root_and_apt


def test_two_nodes_with_four_gpus_each_have_names_addresses_and_folders_of_their_own(
    cluster: Cluster,
) -> None:
    variables = "$CUDA_VISIBLE_DEVICES $SLURM_LAUNCH_NODE_IPADDR"
    shown = (
        f"echo $(hostname) $(hostname -I) {variables} $(touch /tmp/only$SLURM_PROCID; cd /tmp; echo only*)"
    )
    result = cluster.run(f"srun -N2 --ntasks-per-node=1 --gpus-per-node=4 bash -c '{shown}'")
    assert sorted(result.stdout.splitlines()) == [
        "n1 10.77.0.1 0,1,2,3 10.77.0.3 only0",
        "n2 10.77.0.2 0,1,2,3 10.77.0.3 only1",
    ]


def test_each_task_gets_the_gpu_that_it_asked_for(cluster: Cluster) -> None:
    result = cluster.run(
        "srun -N2 --ntasks-per-node=2 --gpus-per-task=1 bash -c 'echo $(hostname):$CUDA_VISIBLE_DEVICES'"
    )
    assert sorted(result.stdout.split()) == ["n1:0", "n1:1", "n2:0", "n2:1"]


def test_a_node_set_down_ends_its_job_and_comes_back(cluster: Cluster) -> None:
    job = cluster.run(
        "sbatch --no-requeue --parsable -N2 -o /dev/null --wrap 'srun sleep 600'"
    ).stdout.strip()
    cluster.run(f"until squeue -j {job} -t running -h | grep -q .; do sleep 0.1; done")
    assert json.loads(cluster.run("squeue --json").stdout)["jobs"][0]["job_state"] == ["RUNNING"]
    cluster.run("scontrol update nodename=n2 state=down reason=test", root=True)
    cluster.run(f"while squeue -j {job} -h | grep -q .; do sleep 0.1; done")
    assert "JobState=NODE_FAIL" in cluster.run(f"scontrol show job {job}").stdout
    cluster.run("scontrol update nodename=n2 state=resume", root=True)
    assert cluster.run("srun -N2 true").returncode == 0


def test_an_exit_code_and_an_interrupt_pass_through(cluster: Cluster) -> None:
    assert cluster.run("exit 7").returncode == 7
    sleeping = cluster.background("echo started; exec sleep 600")
    assert sleeping.stdout is not None
    assert sleeping.stdout.readline() == "started\n"
    sleeping.terminate()
    sleeping.wait(30)
    cluster.run("while pgrep -u user -x sleep; do /bin/sleep 0.05; done")
    assert not any("sleep 600" in line for line in cluster.processes())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_command_that_started_it(
    tmp_path: Path, image: str, number: signal.Signals
) -> None:
    require_root_and_apt()
    second = Cluster(tmp_path)  # in addition to the cluster of the whole test run
    namespace = Path(f"/proc/{second.first_process()}/ns/pid").readlink()
    running = second.background(f"srun -N2 apptainer exec {image} bash -c 'echo started; sleep 600'")
    assert running.stdout is not None
    assert running.stdout.readline() == "started\n"
    assert any("squashfuse" in line for line in second.processes())
    assert len(_living(namespace)) > 10

    second.stop(number)

    running.wait(30)
    assert _gone(namespace)
    assert not any("scalebench/mount" in line for line in Path("/proc/self/mounts").read_text().splitlines())


def _gone(namespace: Path, wait_s: float = 30) -> bool:
    """Whether the last process of a process namespace is gone, after at most `wait_s`."""
    deadline = time.monotonic() + wait_s
    while (left := _living(namespace)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not left


def _living(namespace: Path) -> list[str]:
    """Ids of the processes of a process namespace, on this machine."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "ns/pid").readlink() == namespace:
                found.append(process.name)
        except OSError:  # gone meanwhile
            continue
    return found
