"""`bench batch` as users have it: printed by the image, submitted with sbatch, stopped early, submitted again."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

FAULTY = Path(__file__).parents[1] / "faulty.py"
EXAMPLE = Path(__file__).parents[3] / "docs/examples/jobs/mpi.sh"
SUITE = "smoke --quick --repeats 1 --case ddp_strong --device cpu"
SLOW = {
    "title": "Slow",
    "why": "To be stopped.",
    "workload": {"name": "./faulty.py:Workload", "step_s": 0.02},
    "device": "cpu",
    "measure": {"warmup": 1, "steps": 200, "repeats": 1},
    "cases": [
        {"name": "ddp_strong", "strategy": "ddp", "scaling": "strong", "global_batch": 8, "world": [1, 2]}
    ],
}
"""Each run takes four seconds, in which a signal comes."""
SIZE = "--nodes 2 --gpus-per-node 4 --cpus-per-task 2 --time 10"

Job = tuple[int, str]
"""Exit code and output of a batch job."""


class Folder:
    """A working folder of the cluster's user, where `job.sh` is printed and submitted."""

    def __init__(self, cluster: Any, name: str) -> None:
        self.cluster = cluster
        self.inside = f"/results/{name}"
        self.outside: Path = cluster.results / name
        self.run(f"mkdir -p {shlex.quote(self.inside)}", "/")

    def run(self, command: str, folder: str | None = None) -> str:
        """Output of the line. `folder`: run it in this folder instead."""
        line = f"cd {shlex.quote(folder or self.inside)} && {command}"
        done = self.cluster.run(line, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    def save_slow_suite(self) -> None:
        """Save SLOW as `slow.yaml`."""
        shutil.copy(FAULTY, self.outside)
        (self.outside / "slow.yaml").write_text(json.dumps(SLOW))  # JSON is YAML

    def print_script(self, image: str, options: str) -> str:
        return self.run(f"apptainer run {image} batch {options} --image {image} > job.sh && cat job.sh")

    def submit(self) -> str:
        """Submit the job and return its number."""
        return self.run("sbatch --parsable --output %j.out job.sh").strip()

    def wait(self, job: str) -> Job:
        self.run(f"while squeue --noheader --job {job} | grep -q .; do sleep 0.2; done")
        code = self.run(rf"scontrol -o show job {job} | sed -E 's/.* ExitCode=([0-9]+):.*/\1/'")
        return int(code), self.said(job)

    def signal_once(self, job: str, line: str, after_s: int = 0) -> None:
        """Send the signal that Slurm sends two minutes before the time limit, as soon as the job has printed this
        line."""
        said = f"until grep -q {shlex.quote(line)} {job}.out; do sleep 0.1; done; sleep {after_s}"
        self.run(f"{said}; scancel --signal=USR1 --batch {job}")

    def said(self, job: str) -> str:
        path = self.outside / f"{job}.out"
        return path.read_text() if path.exists() else ""

    def asked(self, sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.outside / "results/results.duckdb"), read_only=True) as connection:
            return connection.sql(sql).fetchall()


@pytest.fixture
def folder(cluster: Any, request: pytest.FixtureRequest) -> Folder:
    return Folder(cluster, f"it's {request.node.name}")


@pytest.fixture(scope="module")
def ended(cluster: Any, image: str) -> tuple[Folder, str]:
    """A successful job on two nodes, and its number."""
    folder = Folder(cluster, "it's ended")
    text = folder.print_script(image, f"{SUITE} {SIZE} --world 1,8 --tag 'two words' --session mine")
    assert "check the path" not in text
    job = folder.submit()
    code, said = folder.wait(job)
    assert (code, "ddp_strong on 8 ranks over 2 nodes" in said) == (0, True), said
    return folder, job


def test_a_submitted_script_ends_with_a_database_and_a_report(ended: tuple[Folder, str]) -> None:
    folder, _ = ended
    assert folder.asked("SELECT session_id, run_id, status, nodes, tags FROM runs ORDER BY ALL") == [
        ("mine", "ddp_strong.1x1.r0", "ok", 1, ["two words"]),
        ("mine", "ddp_strong.2x4.r0", "ok", 2, ["two words"]),
    ]
    assert (folder.outside / "results/public/mine.html").stat().st_size > 100_000


def test_the_fingerprint_of_a_run_is_of_its_own_nodes(ended: tuple[Folder, str]) -> None:
    folder, _ = ended
    facts = "SELECT placement, key, value FROM fingerprint WHERE key IN ('nodes', 'transport') ORDER BY ALL"
    (one, two, (_, key, transport)) = folder.asked(facts)
    assert (one, two, key) == (("1x1", "nodes", "n1"), ("2x4", "nodes", "n1, n2"), "transport")
    assert transport.startswith("gloo over ")


def test_what_slurm_was_asked_for_and_gave_is_in_the_environment(ended: tuple[Folder, str]) -> None:
    folder, job = ended
    record = json.loads((folder.outside / f"results/mine/slurm-job-{job}.json").read_text())
    assert record["jobs"][0]["job_id"] == int(job)
    facts = dict(folder.asked("SELECT key, value FROM environment WHERE node = 0 AND key LIKE 'slurm%'"))
    expected = {
        "slurm_job_id": job,
        "slurm_tres_per_node": "gres/gpu:4",
        "slurm_gres_detail": "gpu:h200:4(IDX:0-3); gpu:h200:4(IDX:0-3)",
        "slurm_time_limit_s": "600",
        "slurm_cpus_on_node": "2",
    }
    assert {key: facts.get(key) for key in expected} == expected


@pytest.mark.shortest
def test_a_signalled_job_stops_and_the_same_script_finishes_its_session(folder: Folder, image: str) -> None:
    folder.save_slow_suite()
    folder.print_script(image, f"./slow.yaml {SIZE} --session stopped --order fixed")
    job = folder.submit()
    folder.signal_once(job, "^.1/2. .* ok ", after_s=2)
    code, said = folder.wait(job)
    assert (code, "stopped by the file STOP" in said) == (143, True), said
    before = folder.asked("SELECT run_id, attempt, status FROM runs ORDER BY ALL")
    assert before == [("ddp_strong.1x1.r0", 0, "ok"), ("ddp_strong.1x2.r0", 0, "interrupted")]
    code, said = folder.wait(folder.submit())
    assert code == 0, said
    assert folder.asked("SELECT run_id, attempt, status FROM runs ORDER BY ALL") == [
        *before,
        ("ddp_strong.1x2.r0", 1, "ok"),
    ]
    assert folder.asked("SELECT session_id FROM sessions") == [("stopped",)]


def test_two_images_are_measured_in_turn_and_the_same_script_goes_on_where_it_was_stopped(
    folder: Folder, image: str
) -> None:
    folder.run(f"ln -s {shlex.quote(image)} old.sif")
    folder.save_slow_suite()
    suite = f"./slow.yaml {SIZE} --world 2 --image old.sif --image {image}"
    folder.run(f"apptainer run {image} batch {suite} --rounds 2 --session ab > job.sh")
    job = folder.submit()
    folder.signal_once(job, "^session ab-b-r1")
    code, said = folder.wait(job)
    assert (code, "stopped by the file STOP" in said) == (143, True), said
    assert not (folder.outside / "results/ab-b-r2").exists()
    job = folder.submit()
    code, said = folder.wait(job)
    assert (code, "every run of its plan is done" in said) == (0, True), said
    begun = [line.split()[1].rstrip(":") for line in said.splitlines() if line.startswith("session ")]
    assert begun == ["ab-b-r1", "ab-b-r2", "ab-a-r2"]  # ab-a-r1 was done
    assert "ab-b-r1, ab-b-r2 against ab-a-r1, ab-a-r2, the baseline" in said
    ran = "SELECT session_id, status, tags FROM run_summary ORDER BY ALL"
    assert folder.asked(ran) == [
        (f"ab-{side}-r{number}", "ok", [f"ab-{side}"]) for side in "ab" for number in (1, 2)
    ]
    # one file under two names
    facts = "SELECT value NOT IN ('none', ''), differs, sum(runs) FROM fingerprint WHERE key = 'image' GROUP BY ALL"
    assert folder.asked(facts) == [(True, False, 4)]
    assert folder.asked("SELECT count(DISTINCT value) FROM fingerprint WHERE key = 'image'") == [(1,)]
    assert len(list((folder.outside / "results/public").glob("ab-[ab]-r[12].html"))) == 4


def test_a_script_that_cannot_run_its_suite_exits_with_the_steps_code(folder: Folder, image: str) -> None:
    folder.print_script(image, f"{SUITE} --nodes 2 --gpus-per-node 2 --time 10 --world 8")
    code, said = folder.wait(folder.submit())
    assert (code, "nothing of this plan can run here" in said) == (2, True), said
    assert not (folder.outside / "results/results.duckdb").exists()


def test_a_script_whose_image_is_not_there_says_so(folder: Folder, image: str) -> None:
    text = folder.print_script(image, f"{SUITE} {SIZE}")
    (folder.outside / "job.sh").write_text(text.replace(f"image={image}", "image=/nowhere/bench.sif"))
    code, said = folder.wait(folder.submit())
    assert (code, said) == (2, f"there is no image /nowhere/bench.sif in {folder.inside}\n")


def test_what_launcher_srun_tells_to_type_on_the_host_runs_in_an_allocation(
    folder: Folder, image: str
) -> None:
    call = f"bench suite {SUITE} --world 2 --tag 'two words' --launcher srun"
    told = folder.cluster.run(f"cd {shlex.quote(folder.inside)} && apptainer exec {image} {call}", timeout=60)
    assert (told.returncode, "srun is called on the host" in told.stderr) == (2, True)
    line = told.stderr.rstrip().splitlines()[-1].strip()
    folder.run(f"salloc --quiet --nodes=2 --gpus-per-node=1 bash -c {shlex.quote(line)}")
    assert folder.asked("SELECT run_id, status FROM runs") == [("ddp_strong.2x1.r0", "ok")]


def test_the_example_for_mpiexec_meets_on_two_nodes(folder: Folder, image: str) -> None:
    text = EXAMPLE.read_text()
    for before, after in (
        ("suite=(ddpm_scaling)", f"suite=({SUITE} --world 2)"),
        ("session=ddpm_scaling-1", "session=mpi"),
        ("exec --nv ", "exec "),
        ("bench.sif", image),
        ("--map-by ppr:1:node --bind-to none", "-ppn 1"),
    ):
        assert before in text
        text = text.replace(before, after)
    (folder.outside / "mpi.sh").write_text(text)
    folder.run("salloc --quiet --nodes=2 --ntasks-per-node=1 --gpus-per-node=1 bash mpi.sh")
    assert folder.asked("SELECT run_id, status FROM runs") == [("ddp_strong.2x1.r0", "ok")]
    assert folder.asked("SELECT count(DISTINCT node) FROM steps") == [(2,)]
    head = json.loads((folder.outside / "results/mpi/session.json").read_text())
    assert head["environment"]["0"]["launcher"] == "MPICH"
    assert len(list((folder.outside / "results/public").glob("mpi.html"))) == 1
