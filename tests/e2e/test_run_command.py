"""`bench run`: an unchanged script on one and two ranks, and commands that cannot be measured."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from processes import KEEPS_GARBAGE, Marked

from tests.unit.analysis.conftest import ask

SCRIPT = f"""{KEEPS_GARBAGE}
import argparse, os
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int)
parser.add_argument("--alone", action="store_true")
arguments = parser.parse_args()
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if not arguments.alone:
    distributed.init_process_group("gloo")
torch.manual_seed(1)
data = TensorDataset(torch.randn(4096, 16), torch.randint(0, 4, (4096,)))
sampler = DistributedSampler(data, num_replicas=world, rank=rank)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
if not arguments.alone:
    model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch, targets in DataLoader(data, batch_size=arguments.batch, sampler=sampler):
    loss = nn.functional.cross_entropy(model(batch), targets)
    optimizer.zero_grad()
    loss.backward()
    print("LOSS", repr(loss.item()), flush=True)
    optimizer.step()
"""
FAILING = """
import gc, os, subprocess, sys, time
gc.disable()  # it takes time
import torch
if sys.argv[2] == "spawn":
    started = [subprocess.Popen([sys.executable, __file__, sys.argv[1], "end"]) for _ in range(2)]
    sys.exit(max(each.wait() for each in started))
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(int(sys.argv[1])):
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
print("the last words")
if sys.argv[2] == "raise":
    raise ValueError("no column")
if sys.argv[2] == "exit":
    sys.stdout.flush()
    os._exit(0)
if sys.argv[2] == "hang":
    time.sleep(600)
"""
SHORT = ("--warmup", "2", "--steps", "6")
SCRIPTS = Path(__file__).with_name("scripts")
LIBRARIES = ("hf_trainer", "accelerate_loop", "lightning_module")
BEGIN = "from __future__ import annotations\n"
"""In the scripts of libraries."""
GROUP = 'group = distributed.new_group([0, 1], group_desc="tensor")\n'
"""Before the loop of SCRIPT; USES_GROUP is the end of a step."""
USES_GROUP = "    distributed.all_reduce(torch.ones(10), group=group)\n"
METRICS = SCRIPT.replace("    model = Distributed", "    pass # model = Distributed").replace("64", "16384")
MEASURED = {
    # file -> text
    "named.py": "import os\nassert os.environ['MY_NAME'] == 'run 0'\n" + SCRIPT,
    "train.py": SCRIPT,
    "metrics.py": METRICS + "    distributed.all_reduce(torch.ones(64))\n",
    **{
        f"{name}.py": (SCRIPTS / f"{name}.py").read_text().replace(BEGIN, BEGIN + KEEPS_GARBAGE)
        for name in LIBRARIES
    },
    "groups.py": SCRIPT.replace("for batch, targets in", f"{GROUP}for batch, targets in") + USES_GROUP,
}
FAILURES = {
    # case -> words after failing.py, status, beginning of the error
    "raises": (("9", "raise"), "failed", "the command ended with exit code 1: ValueError: no column\n"),
    "short": (("5", "end"), "failed", "the command ended without an error after 4 of 8 recorded steps"),
    "exits": (
        ("5", "exit"), "failed", "the command ended at once after 4 of 8 recorded steps, perhaps with os._exit"
    ),
    "spawns": (
        ("5", "spawn"), "failed", "several processes of one rank take steps: the command starts ranks itself"
    ),
    "stepless": (
        ("0", "end"), "failed", "the command ended without an error and without a step of a torch optimizer"
    ),
    "hangs": (
        ("4", "hang"), "timeout", "not done after 20 s (measure.timeout_s); steps completed: rank 0: "
    ),
}  # fmt: skip


def marked_in(folder: Path) -> Marked:
    (folder / "train.py").write_text(SCRIPT)
    (folder / "failing.py").write_text(FAILING)
    marked = Marked(folder)
    # `python` is then the one that has torch
    marked.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return marked


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    return marked_in(tmp_path)


def test_a_script_that_stays_after_its_last_step_is_ended_and_its_run_is_ok(marked: Marked) -> None:
    folder = Path(marked.environment["TMPDIR"])
    caught = SCRIPT.replace("    optimizer.step()\n", "    try:\n        optimizer.step()\n") + (
        "    except SystemExit:\n        os.kill(os.getpid(), 19)  # SIGSTOP\n"
    )
    (folder / "stays.py").write_text(caught)
    words = (
        "--results",
        str(folder / "r"),
        "--session",
        "s",
        "--no-load",
        "--world",
        "1",
        "--repeats",
        "1",
        *SHORT,
    )
    done = marked.run("run", *words, "--", "python", str(folder / "stays.py"), "--batch", "8")
    assert done.returncode == 0, done.stderr
    assert "did not end within 15 s, so it was ended; the run is complete" in done.stderr
    (run,) = (folder / "r/s").glob("*/run.json")
    outcome = json.loads(run.read_text())["outcome"]
    assert (outcome["status"], outcome["ranks_ended"]) == ("ok", 1)


class Session(NamedTuple):
    """A session `s` of several cases that tests share: its folder, and how it ended."""

    folder: Path
    done: subprocess.CompletedProcess[str]


def run_cases(folder: Path, cases: list[dict[str, Any]], *options: str) -> Session:
    """Each test checks its own case; `done` is of all."""
    marked = marked_in(folder)
    measure_of_all = {"warmup": 2, "steps": 6, "repeats": 1}
    suite = {"title": "Commands", "measure": measure_of_all, "workload": {"name": "command"}, "cases": cases}
    (folder / "commands.yaml").write_text(json.dumps(suite))  # JSON is YAML
    words = ("--ranks-per-node", "2", "--results", str(folder / "r"), "--session", "s", *options)
    done = marked.run("suite", str(folder / "commands.yaml"), *words)
    assert marked.left() == []
    return Session(folder, done)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Commands that can be measured, the case `strong` with its batch and its variables."""
    folder = tmp_path_factory.mktemp("measured")
    for name, text in MEASURED.items():
        (folder / name).write_text(text)

    def case(name: str, world: list[int], *words: str) -> dict[str, Any]:
        return {
            "name": name, "world": world, "scaling": "counted", "workload": {"command": ["python", *words]}
        }  # fmt: skip

    strong = case("strong", [1, 2], "named.py", "--batch", "{batch_per_rank}")
    strong |= {"scaling": "strong", "global_batch": 64}
    strong["workload"]["env"] = {"MY_NAME": "run {repeat}"}
    cases = [
        strong,
        case("copies", [1, 2], "train.py", "--batch", "32", "--alone"),
        case("metrics", [2], "metrics.py", "--batch", "32"),
        case("groups", [2], "groups.py", "--batch", "32"),
        *(case(name, [1, 2], f"{name}.py") for name in LIBRARIES),
    ]
    return run_cases(folder, cases)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Commands that fail."""
    cases = [
        {
            "name": name, "world": [1], "scaling": "counted",
            "workload": {"command": ["python", "failing.py", *words]},
            # on a busy machine, even torch's import takes long
            "measure": {"timeout_s": 20 if status == "timeout" else 300},
        }
        for name, (words, status, _) in FAILURES.items()
    ]  # fmt: skip
    return run_cases(tmp_path_factory.mktemp("failed"), cases, "--no-load")


def measure(marked: Marked, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = marked.run(
        "run", *SHORT, "--ranks-per-node", "2", "--results", str(folder / "r"), *words, cwd=folder
    )
    assert marked.left() == []
    return done


def outcome(folder: Path, run: str, session: str = "s") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "r" / session / run / "run.json").read_text())["outcome"]
    return found


def test_an_unchanged_script_on_one_rank_and_two(tmp_path: Path, marked: Marked) -> None:
    command = (
        "--world",
        "1,2",
        "--repeats",
        "1",
        "--session",
        "s",
        "--",
        "python",
        "train.py",
        "--batch",
        "32",
    )
    done = measure(marked, tmp_path, *command)
    assert done.returncode == 0, done.stderr
    assert re.search(r"command on 2 ranks is \d", done.stdout)
    resumed = marked.run("run", "--resume", "s", "--results", str(tmp_path / "r"), "--no-load")
    assert (resumed.returncode, "every run of its plan is done" in resumed.stderr) == (0, True)
    runs = ask(tmp_path / "r", "SELECT * FROM runs ORDER BY run_id")
    assert {(run["status"], run["scaling_mode"], run["steps_completed"]) for run in runs} == {
        ("ok", "weak", 8)
    }
    assert [run["ranks_train"] for run in runs] == [None, "one model"]
    assert [run["same_batch"] for run in runs] == [None, False]
    assert [run["global_batch"] for run in runs] == [32, 64]
    assert json.loads(runs[0]["recorded_by"])["step"] == "step() of SGD"
    assert (
        "content of ./train.py" in runs[0]["fingerprint"] or "content of train.py" in runs[0]["fingerprint"]
    )
    for run, rank in (("command.1x1.r0", 0), ("command.1x2.r0", 0), ("command.1x2.r0", 1)):
        log = (tmp_path / "r/s" / run / f"rank{rank}.log").read_text()
        shown = [float(line.split()[1]) for line in log.splitlines() if line.startswith("LOSS")]
        assert len(shown) == 1 + 2 + 6 + 2  # the first one, then warm-up, measured and profiled ones
        query = f"SELECT loss FROM steps WHERE run_id = '{run}' AND rank = {rank} ORDER BY step"
        assert [row["loss"] for row in ask(tmp_path / "r", query)] == shown[1:]
    query = "SELECT * FROM profile_collectives WHERE op = 'all_reduce' AND run_id = 'command.1x2.r0'"
    sent = ask(tmp_path / "r", query)
    assert {row["message_bytes"] for row in sent} == {4 * (16 * 64 + 64 + 64 * 4 + 4)}
    groups = ask(
        tmp_path / "r", "SELECT DISTINCT * EXCLUDE (rank, step, time_ns, exposed_ns) FROM profile_groups"
    )
    (group,) = [row for row in groups if row["run_id"] == "command.1x2.r0"]
    assert (group["group_name"], group["ranks"], group["message_bytes"]) == ("0", 2, sent[0]["message_bytes"])
    again = measure(marked, tmp_path, *command)
    assert again.returncode == 0
    assert "every run of its plan is done" in again.stderr
    page = marked.run("report", "--results", str(tmp_path / "r"), "--out", str(tmp_path / "public"))
    assert page.returncode == 0, page.stderr


def test_each_process_group_of_a_profiled_step_is_named(measured: Session) -> None:
    rows = ask(
        measured.folder / "r",
        "SELECT description, ranks, calls, message_bytes FROM profile_groups WHERE run_id LIKE 'groups.%'",
    )
    assert len(rows) == 2 * 2 * 2  # ranks, profiled steps, groups
    assert {(row["description"], row["ranks"], row["message_bytes"]) for row in rows} == {
        ("default_pg", 2, None), ("tensor", 2, None)
    }  # fmt: skip
    assert {row["calls"] for row in rows if row["description"] == "tensor"} == {1}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_script_of_another_library_has_the_steps_and_losses_that_it_prints(
    measured: Session, name: str
) -> None:
    results = measured.folder / "r"
    runs = ask(results, f"SELECT * FROM runs WHERE run_id LIKE '{name}.%' ORDER BY run_id")
    assert {(run["status"], run["scaling_mode"], run["steps_completed"]) for run in runs} == {
        ("ok", "weak", 8)
    }
    assert [(run["ranks_train"], run["same_batch"]) for run in runs] == [(None, None), ("one model", False)]
    assert {run["batch_per_rank"] for run in runs} == {8 if name == "hf_trainer" else 16}
    timed = "data_ns IS NULL OR forward_ns IS NULL"
    assert ask(results, f"FROM steps WHERE run_id LIKE '{name}.%' AND ({timed})") == []
    for run, ranks in ((f"{name}.1x1.r0", 1), (f"{name}.1x2.r0", 2)):
        rows = f"(SELECT rank, list(loss ORDER BY step) AS losses FROM steps WHERE run_id = '{run}' GROUP BY rank)"
        recorded = [row["losses"] for row in ask(results, f"FROM {rows} ORDER BY rank")]
        logs = [(results / "s" / run / f"rank{rank}.log").read_text() for rank in range(ranks)]
        assert [len(losses) for losses in recorded] == [2 + 6 + 2] * ranks
        if (
            name == "hf_trainer"
        ):  # its first rank prints the mean over the ranks, after the step, to four digits
            shown = [float(loss) for loss in re.findall(r"'loss': '([\d.]+)'", logs[0])]
            means = [sum(losses) / ranks for losses in zip(*recorded, strict=True)]
            assert means[:-1] == pytest.approx(shown[1:], abs=6e-4)
        else:  # each rank prints the loss of each of two batches in a step, before the step
            for losses, log in zip(recorded, logs, strict=True):
                shown = [float(line.split()[1]) for line in log.splitlines() if line.startswith("LOSS")]
                assert losses == pytest.approx(
                    [sum(shown[at : at + 2]) / 2 for at in range(2, len(shown), 2)], rel=1e-6
                )


def test_ranks_that_do_not_combine_gradients_are_copies(measured: Session) -> None:
    of_it = "WHERE run_id LIKE 'copies.%' ORDER BY run_id"
    found = ask(measured.folder / "r", f"SELECT status, ranks_train FROM runs {of_it}")
    assert [(run["status"], run["ranks_train"]) for run in found] == [
        ("ok", None), ("ok", "independent copies")
    ]  # fmt: skip
    assert re.search(r"^copies +2 .*independent copies$", measured.done.stdout, re.MULTILINE)
    assert "The ranks train independent copies of the model (copies 1x2 " in measured.done.stdout


def test_metrics_that_ranks_reduce_are_not_gradients(measured: Session) -> None:
    of_it = "WHERE run_id LIKE 'metrics.%'"
    found = ask(measured.folder / "r", f"SELECT ranks_train FROM runs {of_it}")
    assert found == [{"ranks_train": "independent copies"}]
    query = f"SELECT DISTINCT op, message_bytes FROM profile_collectives {of_it}"
    assert {"op": "all_reduce", "message_bytes": 64 * 4} in ask(measured.folder / "r", query)


def test_a_suite_runs_a_command_with_its_batch_and_its_variables(measured: Session) -> None:
    assert measured.done.returncode == 0, measured.done.stderr
    query = "SELECT DISTINCT scaling_mode, global_batch FROM runs WHERE run_id LIKE 'strong.%'"
    assert ask(measured.folder / "r", query) == [{"scaling_mode": "strong", "global_batch": 64}]


@pytest.mark.parametrize("name", FAILURES)
def test_a_command_that_fails_is_a_row_with_the_reason(failed: Session, name: str) -> None:
    words, status, said = FAILURES[name]
    assert failed.done.returncode == 1, failed.done.stderr
    found = outcome(failed.folder, f"{name}.1x1.r0")
    assert found["status"] == status
    assert found["error"].startswith(said)
    if status == "failed" and words[1] != "spawn":
        assert "the last words" in found["error"]
    if "rank 0: 3" in found["error"]:  # a slow machine may still import torch
        line = FAILING.splitlines().index("    time.sleep(600)") + 1
        assert f"rank 0 is at failing.py line {line} in <module>; stacks are in" in found["error"]


def test_an_optimizer_that_the_command_does_not_have_is_named(tmp_path: Path, marked: Marked) -> None:
    options = ("--no-load", "--world", "1", "--repeats", "1", "--session", "s", "--step-optimizer", "Lion")
    done = measure(marked, tmp_path, *options, "--", "python", "failing.py", "9", "end")
    assert done.returncode == 1, done.stderr
    assert outcome(tmp_path, "command.1x1.r0")["error"].startswith(
        "the command ended without an error and without a step of the optimizer Lion: its optimizers are 0 SGD "
        "(--step-optimizer, or step_optimizer of a suite)"
    )


def test_a_folder_that_is_too_large_to_isolate_ends_the_run_and_no_row_of_it_is_missing(
    tmp_path: Path, marked: Marked
) -> None:
    with (tmp_path / "data.bin").open("wb") as file:
        file.truncate(2 << 30)  # takes no room
    options = ("--isolate", "--world", "1", "--repeats", "1", "--session", "s")
    done = measure(marked, tmp_path, *options, "--", "python", "-c", "import torch")
    assert done.returncode == 1, done.stderr
    assert "holds more than 1 GiB of files" in outcome(tmp_path, "command.1x1.r0")["error"]
    assert "left out" not in done.stdout + done.stderr


def test_with_isolate_a_run_does_not_see_what_another_wrote(tmp_path: Path, marked: Marked) -> None:
    once = 'from pathlib import Path\nassert not Path("mark").exists()\nPath("mark").touch()\n'
    (tmp_path / "train.py").write_text(once + SCRIPT)
    # a program that is not copied, as in a virtual environment
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/pyvenv.cfg").write_text(Path(sys.prefix, "pyvenv.cfg").read_text())
    for name in ("bin", "lib"):
        (tmp_path / "venv" / name).symlink_to(Path(sys.prefix, name))
    command = (
        "--world",
        "1",
        "--repeats",
        "2",
        "--isolate",
        "--no-load",
        "--",
        "venv/bin/python",
        "train.py",
        "--batch",
        "32",
        "--alone",
    )
    done = measure(marked, tmp_path, *command)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "mark").exists()


def test_a_stopped_session_goes_on_with_the_same_command(tmp_path: Path, marked: Marked) -> None:
    (tmp_path / "train.py").write_text(SCRIPT + "    import time; time.sleep(0.3)\n")
    words = (
        "run",
        *SHORT,
        "--ranks-per-node",
        "1",
        "--results",
        str(tmp_path / "r"),
        "--session",
        "s",
        "--world",
        "1",
    )
    command = (*words, "--repeats", "3", "--", "python", "train.py", "--batch", "32", "--alone")
    first = marked.start(*command, cwd=tmp_path)
    while not list((tmp_path / "r").glob("s/*/run.json")):  # the first run has ended
        assert first.poll() is None, first.communicate()
        time.sleep(0.1)
    first.send_signal(signal.SIGINT)
    assert first.wait(60) == 130, first.communicate()
    statuses = [
        json.loads(path.read_text())["outcome"]["status"] for path in (tmp_path / "r/s").glob("*/run.json")
    ]
    assert statuses.count("ok") in (1, 2)
    done = marked.run(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = ask(tmp_path / "r", "SELECT steps_completed FROM runs WHERE status = 'ok'")
    assert runs == [{"steps_completed": 8}] * 3
    assert marked.left() == []


def test_a_python_without_torch_is_named(tmp_path: Path, marked: Marked) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "other")], check=True)
    command = (str(tmp_path / "other/bin/python"), "train.py", "--batch", "32")
    options = ("--no-load", "--world", "1", "--repeats", "1", "--session", "s")
    done = measure(marked, tmp_path, *options, "--", *command)
    assert done.returncode == 1
    said = outcome(tmp_path, "command.1x1.r0")["error"]
    assert (
        f"the Python of the command, {command[0]}, has no torch: put the folder of the one that has it"
        in said
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such-program",), "no-such-program is not on PATH: give its whole path, or correct the command"),
        (("python", "missing.py"), "missing.py is not a file in"),
        (("torchrun", "train.py"), "give bench the script: `bench run -- python train.py`"),
    ],
)
def test_a_command_that_cannot_start_is_refused_before_anything_is_written(
    tmp_path: Path, marked: Marked, words: tuple[str, ...], said: str
) -> None:
    done = measure(marked, tmp_path, "--world", "1", "--", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert list((tmp_path / "r").glob("*/session.json")) == []


def test_a_launcher_in_a_script_ends_the_session_and_the_command_to_give_works(
    tmp_path: Path, marked: Marked
) -> None:
    (tmp_path / "retries.sh").write_text(
        "export MINE=1\nuntil torchrun --standalone --nproc_per_node=2 train.py --batch 8; do sleep 1; done\n"
    )
    done = measure(
        marked,
        tmp_path,
        "--world",
        "1,2",
        "--repeats",
        "2",
        "--no-load",
        "--session",
        "s",
        "--",
        "sh",
        "retries.sh",
    )
    assert done.returncode == 1
    outcomes = [json.loads(path.read_text())["outcome"] for path in (tmp_path / "r/s").glob("*/run.json")]
    (error,) = [found["error"] for found in outcomes if found["status"] == "failed"]
    assert error.startswith("`sh retries.sh` starts torchrun, which starts ranks itself, as bench does: ")
    assert error.endswith("; `sh retries.sh` sets MINE: add --env NAME=VALUE for each")
    assert [found["skipped_for"] for found in outcomes if found["status"] == "skipped"] == ["command"] * 3
    assert (
        "3 runs of the command were not started, because each would end as its first run did" in done.stderr
    )
    assert not any("LOSS" in log.read_text() for log in (tmp_path / "r/s").glob("*/*.log"))
    given = re.search(r"`bench run (.*?)`", error.partition("give bench the script")[2])
    assert given is not None
    words = ("--repeats", "1", "--no-load", "--session", "given", *shlex.split(given[1]))
    assert measure(marked, tmp_path, *words).returncode == 0
    assert outcome(tmp_path, "command.1x2.r0", "given")["status"] == "ok"


def test_wrong_options_of_the_command_fail_one_run_and_a_resume_runs_the_others(
    tmp_path: Path, marked: Marked
) -> None:
    words = ("--world", "1", "--repeats", "2", "--session", "s", "--no-load", "--", "python", "train.py")
    done = measure(marked, tmp_path, *words, "--batch", "8", "--lr", "3")
    assert done.returncode == 1
    first, second = (outcome(tmp_path, f"command.1x1.r{repeat}") for repeat in (0, 1))
    said = "the command ended with exit code 2: train.py: error: unrecognized arguments: --lr 3"
    assert first["error"].splitlines()[0] == said
    assert (second["status"], second["skipped_for"]) == ("skipped", "command")
    assert "1 run of the command was not started" in done.stderr
    resume = re.search(r"`bench (run --resume s .*)` runs what is left", done.stderr.replace("\n", " "))
    assert resume is not None, done.stderr
    (tmp_path / "train.py").write_text(SCRIPT.replace("parse_args()", "parse_known_args()[0]"))
    done = marked.run(*shlex.split(resume[1]), "--no-load", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [outcome(tmp_path, f"command.1x1.r{repeat}")["status"] for repeat in (0, 1)] == ["ok", "ok"]


def test_an_exit_code_of_2_after_the_first_step_stops_no_other_run(tmp_path: Path, marked: Marked) -> None:
    (tmp_path / "ends.py").write_text(SCRIPT + "    sys.exit(2)\n".replace("sys", "__import__('sys')"))
    words = ("--world", "1", "--repeats", "2", "--session", "s", "--no-load", "--", "python", "ends.py")
    assert measure(marked, tmp_path, *words, "--batch", "8").returncode == 1
    assert [outcome(tmp_path, f"command.1x1.r{repeat}")["status"] for repeat in (0, 1)] == ["failed"] * 2


SPAWNING = """
import sys
import torch
from torch import multiprocessing

def train(number):
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100):
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()

def prepare(number):
    open(f"prepared{number}", "w").close()

if __name__ == "__main__":
    multiprocessing.spawn(train if sys.argv[1] == "train" else prepare, nprocs=2)
    train(0)
"""


def test_the_line_that_spawns_processes_is_named_if_they_train(tmp_path: Path, marked: Marked) -> None:
    (tmp_path / "spawns.py").write_text(SPAWNING)
    words = ("--world", "1", "--repeats", "1", "--no-load", "--session")
    assert measure(marked, tmp_path, *words, "trains", "--", "python", "spawns.py", "train").returncode == 1
    line = SPAWNING.splitlines().index(SPAWNING.splitlines()[-2]) + 1
    said = f"several processes of one rank take steps: spawns.py line {line} starts them with torch.multiprocessing"
    assert outcome(tmp_path, "command.1x1.r0", "trains")["error"].startswith(said)
    done = measure(marked, tmp_path, *words, "prepares", "--", "python", "spawns.py", "prepare")
    assert done.returncode == 0, done.stderr
    assert outcome(tmp_path, "command.1x1.r0", "prepares")["status"] == "ok"
    assert {path.name for path in tmp_path.glob("prepared*")} == {"prepared0", "prepared1"}
