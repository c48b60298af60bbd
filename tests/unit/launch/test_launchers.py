"""Each launcher's variables, captured from real ones or taken from their documentation."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.errors import InputError
from bench.launch import launchers
from bench.launch.here import found_here, step_of
from bench.launch.launchers import AFTER_SLURM, BEFORE_SLURM, Launcher, Task
from bench.launch.step import Step
from tests.unit.slurm.test_step import TWO_BY_TWO, captured

# captured: mpirun (Open MPI 4.1.4) -n 2
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_MCA_ess_base_jobid": "381157377", "PMIX_NAMESPACE": "381157377", "PMIX_RANK": "1",
}  # fmt: skip
# captured: mpirun (Open MPI 6.0 with PRRTE) -n 2 in a batch job of Slurm 26.05
OPEN_MPI_5 = {
    "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "prterun-n1-195@1", "PMIX_RANK": "1"
}  # fmt: skip
# captured: mpiexec.mpich (Hydra 4.0.2) -n 2
MPICH = {"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
# captured: torchrun (PyTorch 2.13) --nproc-per-node 2
TORCHRUN = {
    "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0",
    "MASTER_ADDR": "localhost", "MASTER_PORT": "44265", "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_RESTART_COUNT": "0",
}  # fmt: skip
# IBM, "Job Step Manager", jsrun; the same names are in PyTorch Lightning's LSFEnvironment
JSRUN = {
    "LSB_JOBID": "12", "JSM_NAMESPACE_RANK": "1", "JSM_NAMESPACE_SIZE": "2", "JSM_NAMESPACE_LOCAL_RANK": "0",
    "PMIX_NAMESPACE": "3", "PMIX_RANK": "1",
}  # fmt: skip
# HPE, "Parallel Application Launch Service", pals.h: variables for applications
PALS = {
    "PBS_JOBID": "12.pbs", "PALS_APID": "7d4f", "PALS_RANKID": "1", "PALS_NODEID": "1", "PALS_LOCAL_RANKID": "0",
    "PMI_RANK": "1", "PMI_SIZE": "2", "PMI_JOBID": "7d4f", "PMI_LOCAL_RANK": "0",
}  # fmt: skip
# flux-environment(7); on a Cray its plugin sets PALS_* as well
FLUX = {
    "FLUX_JOB_ID": "ƒ3ETxsR9H", "FLUX_JOB_SIZE": "2", "FLUX_JOB_NNODES": "2", "FLUX_TASK_RANK": "1",
    "FLUX_TASK_LOCAL_ID": "0", "PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": "9", "PALS_RANKID": "1",
}  # fmt: skip
# Cray, aprun(1), with the number of tasks from the user
ALPS = {"ALPS_APP_ID": "99", "ALPS_APP_PE": "1", "BENCH_TASKS": "2"}
# captured: srun --mpi=pmi2
PMI = {"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_JOBID": "1.4", "PMI_FD": "16"}
# the PMIx standard, "Client initialization"; it has no variable for the size
PMIX = {"PMIX_NAMESPACE": "slurm.pmix.1.0", "PMIX_RANK": "1", "BENCH_TASKS": "2"}
# IBM, "Environment variables set for job execution"; LSF counts tasks from 1
# captured: prun of PRRTE
PRUN = {"PMIX_NAMESPACE": "prte-n1-559@1", "PMIX_RANK": "1", "BENCH_TASKS": "2"}
BLAUNCH = {"LSB_JOBID": "12", "LSF_PM_TASKID": "2", "LSB_DJOB_NUMPROC": "2"}
# Kubeflow Trainer, its torch plugin
TRAIN_JOB = {
    "PET_NNODES": "2",
    "PET_NODE_RANK": "1",
    "PET_NPROC_PER_NODE": "auto",
    "JOB_COMPLETION_INDEX": "1",
}
# Kubeflow, "PyTorchJob": "The Training Operator will automatically set WORLD_SIZE and RANK"
PYTORCH_JOB = {
    "RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "digits-master-0", "MASTER_PORT": "23456",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
}  # fmt: skip
# Kubernetes, "Indexed Job for Parallel Processing with Static Work Assignment"
INDEXED_JOB = {"JOB_COMPLETION_INDEX": "1", "BENCH_TASKS": "2"}
BY_HAND = {"BENCH_TASK": "1", "BENCH_TASKS": "2", "BENCH_LAUNCH": "mine"}
KNOWN = {
    "Open MPI": OPEN_MPI, "Open MPI 5": OPEN_MPI_5, "MPICH": MPICH, "torchrun": TORCHRUN, "jsrun": JSRUN,
    "PALS": PALS, "Flux": FLUX, "ALPS": ALPS, "PMI": PMI, "PMIx": PMIX, "PMIx of PRRTE": PRUN, "blaunch": BLAUNCH,
    "Kubeflow": TRAIN_JOB,
    "Kubernetes": PYTORCH_JOB, "Kubernetes job": INDEXED_JOB, "BENCH_TASK": BY_HAND,
}  # fmt: skip
POD = "digits-worker-0"


@pytest.fixture(autouse=True)
def on_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: POD)


def task(environ: dict[str, str], session: str | None = None) -> Task:
    found = found_here(session, environ)
    assert isinstance(found, Task)
    return found


def row_of(environ: dict[str, str]) -> Launcher:
    launcher = task(environ, "s").launcher
    return next(row for row in (*BEFORE_SLURM, *AFTER_SLURM) if row.name == launcher and row.task in environ)


@pytest.mark.parametrize("name", KNOWN)
def test_a_task_knows_its_launcher_its_index_and_how_many_there_are(name: str) -> None:
    found = task(KNOWN[name], session="s")
    assert (found.task, found.tasks) == (1, 2)
    assert name.startswith(found.launcher)
    assert "/" not in found.key


def test_no_launcher_has_started_a_plain_process() -> None:
    assert found_here(None, {}) is None
    assert found_here(None, {"RANK": "1", "WORLD_SIZE": "2", "PBS_JOBID": "7", "LSB_JOBID": "7"}) is None


def test_mpirun_in_a_batch_job_of_slurm_wins_and_srun_wins_when_it_speaks_pmi() -> None:
    assert task(captured("batch_shell") | OPEN_MPI).launcher == "Open MPI"
    assert task(captured("batch_shell") | MPICH, session="s").launcher == "MPICH"
    assert task(TWO_BY_TWO | FLUX).launcher == "Flux"
    assert task(captured("batch_shell") | PRUN).launcher == "PMIx"
    for spoken in (PMIX, PMI):
        found = found_here(None, TWO_BY_TWO | spoken)
        assert isinstance(found, Step)
        assert found.launcher == "Slurm"


def test_the_tasks_of_mpiexec_below_srun_are_not_those_of_srun() -> None:
    """Captured: MPICH 5.0 and Open MPI 6.0 start one process per node with srun, and their tasks below it."""
    below = TWO_BY_TWO | {"SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_PROCID": "1", "SLURM_LOCALID": "0"}
    for variables in (MPICH | {"PMI_RANK": "3", "PMI_SIZE": "4"}, OPEN_MPI_5):
        found = task(below | variables, "s")
        assert found.tasks == int(variables.get("PMI_SIZE", "2"))


def test_a_launcher_within_another_is_the_one_that_counts() -> None:
    assert task(OPEN_MPI | BY_HAND).launcher == "BENCH_TASK"
    assert task(OPEN_MPI | TORCHRUN).launcher == "torchrun"
    assert task(BLAUNCH | OPEN_MPI).launcher == "Open MPI"
    assert task(INDEXED_JOB | TORCHRUN).launcher == "torchrun"


@pytest.mark.parametrize(
    ("environ", "change"),
    [
        (OPEN_MPI, {"PMIX_NAMESPACE": "381157378"}),
        (OPEN_MPI_5, {"PMIX_NAMESPACE": "prterun-n1-264@1"}),
        (TORCHRUN, {"MASTER_PORT": "44266"}),
        (TORCHRUN, {"TORCHELASTIC_RESTART_COUNT": "1"}),
        (JSRUN, {"PMIX_NAMESPACE": "4"}),
        (PALS, {"PALS_APID": "7d50"}),
        (FLUX, {"FLUX_JOB_ID": "ƒ3ETxsR9J"}),
        (FLUX, {"FLUX_JOB_ID": "?3ETxsR9H"}),
        (BLAUNCH, {"LSB_JOBID": "13"}),
        (BY_HAND, {"BENCH_LAUNCH": "mine-2"}),
        (INDEXED_JOB, {"BENCH_LAUNCH": "mine"}),
    ],
)
def test_launches_have_different_keys_and_the_tasks_of_one_the_same(
    environ: dict[str, str], change: dict[str, str]
) -> None:
    row = row_of(environ)
    assert task(environ).key == task(environ | {row.task: str(row.first)}).key != task(environ | change).key


def test_the_pods_of_a_job_have_its_name_in_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = task(PYTORCH_JOB).key
    monkeypatch.setattr(socket, "gethostname", lambda: "digits-master-0")
    assert task(PYTORCH_JOB).key == worker
    monkeypatch.setattr(socket, "gethostname", lambda: "letters-master-0")
    assert task(PYTORCH_JOB).key != worker


def test_torchrun_on_two_machines_at_their_own_loopback_are_two_launches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, shared = task(TORCHRUN).key, task(TORCHRUN | {"MASTER_ADDR": "n1"}).key
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    assert task(TORCHRUN).key != here
    assert task(TORCHRUN | {"MASTER_ADDR": "n1"}).key == shared


def test_a_launch_without_a_name_has_that_of_the_job_and_the_session() -> None:
    assert task(BLAUNCH).key != task(BLAUNCH, "s").key != task(BLAUNCH, "t").key
    assert task(MPICH | {"PBS_JOBID": "7.pbs"}).key.startswith("MPICH-7.pbs-")


def test_a_launch_that_nothing_names_asks_for_a_name() -> None:
    with pytest.raises(InputError) as told:
        found_here(None, MPICH)
    assert str(told.value) == (
        "MPICH does not tell its tasks which launch they belong to: give all of them the same --session NAME, or set "
        "BENCH_LAUNCH to a name of this launch; --launcher local runs on this machine alone"
    )


@pytest.mark.parametrize("proxy", ["--control-port n1:4383", "--upstream-host n1 --upstream-port 4383"])
def test_hydra_names_its_launch_in_the_command_line_of_its_proxy(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captured from Hydra 4.0.2; the second is Intel MPI's hydra_bstrap_proxy."""
    commands = {
        "/proc/30/cmdline": "sh\0-c\0bench",
        "/proc/20/cmdline": f"proxy {proxy} --rmk user".replace(" ", "\0"),
    }
    parents = {"/proc/30/stat": "30 (a ) b) S 20 1", "/proc/20/stat": "20 (proxy) S 1 1"}
    monkeypatch.setattr(launchers.os, "getppid", lambda: 30)  # type: ignore[attr-defined]
    monkeypatch.setattr(launchers, "text_of", (commands | parents).__getitem__)
    assert task(MPICH).key.startswith("MPICH-n1-4383-")


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "BENCH_TASK"])
def test_a_single_task_meets_no_one_and_needs_no_name(name: str) -> None:
    row = row_of(KNOWN[name])
    alone = {row.tasks or "BENCH_TASKS": "1", row.task: str(row.first)}
    found = task(KNOWN[name] | alone)
    assert (found.task, found.tasks, found.key) == (0, 1, "")
    assert step_of(found, Path("/nowhere")) is None


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "1"},
            "OMPI_COMM_WORLD_RANK=1 and OMPI_COMM_WORLD_SIZE=1: the tasks are 0 to 0",
        ),
        (BLAUNCH | {"LSF_PM_TASKID": "3"}, "LSF_PM_TASKID=3 and LSB_DJOB_NUMPROC=2: the tasks are 1 to 2"),
        (BLAUNCH | {"LSF_PM_TASKID": "0"}, "LSF_PM_TASKID=0 and LSB_DJOB_NUMPROC=2: the tasks are 1 to 2"),
        (MPICH | {"PMI_RANK": "first"}, "PMI_RANK=first: MPICH sets a number up to 100000 there"),
        (MPICH | {"PMI_SIZE": "9" * 5000}, "PMI_SIZE=9999"),
        (TRAIN_JOB | {"PET_NNODES": "1:4"}, "PET_NNODES=1:4: Kubeflow sets a number up to 100000 there"),
        (
            {"JOB_COMPLETION_INDEX": "1"},
            "JOB_COMPLETION_INDEX is set and BENCH_TASKS is not: set BENCH_TASKS to the number of tasks",
        ),
        ({"BENCH_TASK": "1"}, "BENCH_TASK is set and BENCH_TASKS is not"),
        ({"FLUX_TASK_RANK": "0"}, "FLUX_TASK_RANK is set and FLUX_JOB_SIZE is not"),
    ],
)
def test_wrong_variables_are_named_with_the_remedy(environ: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as told:
        found_here("s", environ)
    assert str(told.value).startswith(message)
    assert str(told.value).endswith("; --launcher local runs on this machine alone")


VARIABLES = sorted({name for environ in KNOWN.values() for name in environ})


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries(
        {}, optional={name: st.text(max_size=6) | st.sampled_from("012") for name in VARIABLES}
    )
)
def test_all_values_of_the_variables_give_a_task_or_an_error_of_input(environ: dict[str, str]) -> None:
    try:
        found = found_here(None, environ)
    except InputError:
        return
    if found is not None:
        assert 0 <= found.task < found.tasks
        assert "/" not in found.key
