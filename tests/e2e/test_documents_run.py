"""Every command in a document runs as written, in a copy of the checkout with small sessions in it.

The sessions are called SESSION, A and B, the folder DIR and the file FILE.yaml, as the documents call them."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents import ROOT, copy_of_the_checkout, needs_a_cluster, saved_examples, shown_commands

from tests.e2e.processes import OneProcess
from tests.factory import Case, make_session

PREDICTED_7B = next(
    command for command in shown_commands() if command.startswith("bench predict model_sweep")
)
INSTEAD = {
    # with arguments that make it short, and everything else unchanged
    "bench run --world 1,2 -- python docs/custom/train.py --batch-size 256": (
        "bench run --world 1 --repeats 1 --steps 3 -- python docs/custom/train.py --batch-size 256"
    ),
    "bench suite smoke --set train.precision=bf16 --case 'ddp_*'": (
        "bench suite smoke --set train.precision=bf16 --case 'ddp_*' --quick --repeats 1 --world 1"
        " --set measure.profiled=1 --set measure.steps=2"
    ),
    "bench suite ./my_suite.yaml --quick": (
        "bench suite ./my_suite.yaml --quick --repeats 1 --world 2 --set measure.steps=2"
    ),
    "bench suite ./my_suite.yaml --tag first": "bench suite ./my_suite.yaml --tag first --dry-run",
    "bench suite ./my_suite.yaml --data DIR": "bench suite ./my_suite.yaml --data DIR --dry-run",
    "bench suite text_scaling --case 'ag_news*' --set data.source=ag_news --data DIR": (
        "bench suite text_scaling --case 'ag_news*' --set data.source=ag_news --data DIR --dry-run"
    ),
    "bench suite loader_sweep --case workers --set cases.workers.data.source=imagefolder --data DIR": (
        "bench suite loader_sweep --case workers --set cases.workers.data.source=imagefolder --data DIR --dry-run"
    ),
    # their cases are among changed_runs
    "bench suite ./batch_sweep_ddp.yaml --quick": "bench suite ./batch_sweep_ddp.yaml --quick --dry-run",
    "bench suite ./FILE.yaml": "bench suite ./FILE.yaml --dry-run",
    "bench suite --resume @latest": "bench suite --resume @latest --results RESULTS",
    "bench suite NAME": "bench suite smoke --dry-run",
    "bench suite NAME --quick --repeats 1": "bench suite smoke --quick --repeats 1 --dry-run",
    "bench suite ./my_script.yaml": "bench suite ./my_script.yaml --dry-run",
    "bench predict NAME --messages": "bench predict smoke --quick --case ddp_strong --messages",
    "bench suite comm_options --world 1": "bench suite comm_options --world 1 --dry-run",
    # test_profiled.py shows that a trace is there
    "bench suite NAME --trace": "bench suite smoke --trace --dry-run",
    "bench compare SESSION:unet~precision=fp32 SESSION:unet~precision=bf16": "bench compare A:ddp B:ddp",
    "bench compare tag:NAME-a tag:NAME-b": "bench compare A B",
    "for n in 1 2 3; do bench suite smoke --repeats 10 --session change-123-$n --tag change-123; done": (
        "for n in 1 2 3; do bench suite smoke --repeats 10 --session change-123-$n --tag change-123 --dry-run; done"
    ),
    "bench suite smoke --repeats 10 --tag main": "bench suite smoke --repeats 10 --tag main --dry-run",
    "bench compare tag:main tag:change-123 --max-regression 5%": "bench compare A B --max-regression 5%",
    "bench compare tag:main tag:change": "bench compare A B",
    "bench compare 'SESSION:ddp_strong~precision=fp32' 'SESSION:ddp_strong~precision=bf16'": (
        "bench compare A:ddp B:ddp"
    ),
    "bench suite SUITE --vary train.precision=fp32,bf16": (
        "bench suite smoke --vary train.precision=fp32,bf16 --dry-run"
    ),
    "bench suite smoke --quick --case ddp_strong --vary train.precision=fp32,bf16": (
        "bench suite smoke --quick --case ddp_strong --vary train.precision=fp32,bf16 --dry-run"
    ),
    "python benchmarks/coverage.py": "python benchmarks/coverage.py --help",
    "python benchmarks/coverage.py --speedruns FILE": "python benchmarks/coverage.py --help",
    "python benchmarks/coverage.py --only plateau": "python benchmarks/coverage.py --only plateau --draws 1",
    "python benchmarks/coverage.py --only stragglers": "python benchmarks/coverage.py --only stragglers --draws 1",
    "python benchmarks/coverage.py --only target": "python benchmarks/coverage.py --only target --draws 2",
    "python benchmarks/coverage.py --only sessions": "python benchmarks/coverage.py --only sessions --draws 1000",
    "python benchmarks/coverage.py --only comparison": (
        "python benchmarks/coverage.py --only comparison --draws 1 --repeats 3"
    ),
    "python benchmarks/coverage.py --only history": (
        "python benchmarks/coverage.py --only history --draws 1 --repeats 3"
    ),
    "python benchmarks/coverage.py --only laws": "python benchmarks/coverage.py --only laws --draws 1",
    # test_rules.py runs in the part `unit`
    ".venv/bin/pytest tests/unit/diagnosis/test_rules.py -k many_slow_steps": (
        ".venv/bin/pytest tests/unit/diagnosis/test_rules.py -k data_bound --collect-only"
    ),
    # few sessions; those of the other tests would be added one by one
    "bench report --redact --out redacted": "bench report --redact --out redacted --results RESULTS",
    "bench report --open": "bench report --open --results RESULTS",
    "python benchmarks/probe.py": "python benchmarks/probe.py --pairs 2 --size short --steps 100",
    "python benchmarks/stamps.py --steps 20000": "python benchmarks/stamps.py --help",
    "bench run --selfcheck -- python train.py": "bench run --selfcheck --dry-run -- python docs/custom/train.py",
    "python benchmarks/stamps.py --device cuda --steps 800": "python benchmarks/stamps.py --help",
    "python benchmarks/stamps.py --device cuda --steps 2000": "python benchmarks/stamps.py --help",
    "python benchmarks/stamps.py --device cuda --steps 2000 --batch 8": "python benchmarks/stamps.py --help",
    "python benchmarks/sensors.py --device cuda --seconds 12": "python benchmarks/sensors.py --help",
    "python benchmarks/bare_loops.py": "python benchmarks/bare_loops.py spiral_mlp --seconds 0.1",
    # tries each test's inputs for a minute
    ".venv/bin/pytest tests/fuzz --hypothesis-profile=long": (
        "python -m pytest tests/fuzz --hypothesis-profile=long --collect-only"
    ),
    "python -m benchmarks.size FOLDER": "python -m benchmarks.size FOLDER --shape rows --most 1e5",
    "python benchmarks/coordination.py": "python benchmarks/coordination.py --agents 8",
    "python benchmarks/sensors.py": "python benchmarks/sensors.py --seconds 1",
    # runs with bf16
    "bench suite smoke --set measure.profiled=4": "bench suite smoke --set measure.profiled=4 --dry-run",
    PREDICTED_7B: PREDICTED_7B.split(" --set ")[0] + " --quick",
    # test_shipped_suites.py runs it, with fewer and smaller messages
    "bench suite collectives --set workload.smallest_bytes=1048576": (
        "bench suite collectives --set workload.smallest_bytes=1048576 --dry-run"
    ),
    "bench suite collectives --quick --repeats 4 --world 2 --set workload.after_computation=false": (
        "bench suite collectives --quick --world 2 --set workload.after_computation=false --dry-run"
    ),
    "bench suite comm_options --quick --repeats 3": "bench suite comm_options --quick --repeats 3 --dry-run",
    "python benchmarks/startup.py --pairs 5": "python benchmarks/startup.py --help",
    "python benchmarks/startup.py --pairs 3 --strategy fsdp": "python benchmarks/startup.py --help",
    "python benchmarks/many_sessions.py results SESSION --sessions 1 100 1000 --times 1": (
        "python benchmarks/many_sessions.py --help"
    ),
    "python benchmarks/command_line.py --rounds 7": (
        "python benchmarks/command_line.py --rounds 1 --results RESULTS"
    ),
    "python benchmarks/parquet_bytes.py": "python benchmarks/parquet_bytes.py --steps 100",
    "bench import FILE.toml --suite NAME": "bench import suites/published/megatron-lm.toml --suite ours",
    "bench suite smoke --quick --set train.precision=fp32": (
        # smoke's own precision
        "bench suite smoke --quick --set train.precision=fp32 --dry-run"
    ),
    "bench suite text_scaling --quick --world 1,2 --repeats 6": (
        "bench suite text_scaling --quick --world 1,2 --set cases.ag_news_small.global_batch=256 --dry-run"
    ),
    # test_repeats_until.py shows that it repeats
    "bench suite smoke --case ddp_strong --set measure.until=5% --set measure.max_repeats=8": (
        "bench suite smoke --case ddp_strong --set measure.until=5% --set measure.max_repeats=8 --dry-run"
    ),
    "mkdir -p results && tar -xzf A.tar.gz -C results && bench load": (
        "tar -czf B.tar.gz -C results B && mkdir -p both && tar -xzf B.tar.gz -C both && bench load both"
    ),
    "bench COMMAND --help": "bench suite --help",
    ".venv/bin/ruff format .": ".venv/bin/ruff format --check .",
    # without a command they only show the help, with exit code 2
    "python -m bench": "python -m bench --version",
    "python -E -m bench": "python -E -m bench --version",
}
"""Command in the document -> command to run."""
TRY_THE_WORKLOAD = (
    "bench suite smoke --quick --set workload.name=copy_task --set data.source=synthetic "
    "--set measure.validate_every=0"
)
ELSEWHERE = {
    TRY_THE_WORKLOAD: "test_an_added_workload_trains_as_contributing_says",
    "git clone REPOSITORY scalebench && cd scalebench": "test_quickstart.py clones and goes on from there",
    "ci/quickstart": "test_quickstart.py",
    "time ci/quickstart": "test_quickstart.py",
    "ci/test": "runs this test",
    "ci/test lint types unit": "runs before this test",
    "ci/test lint types": "runs before this test",
    "ci/test lint": "runs before this test",
    "ci/test types": "runs before this test",
    "ci/test audit": "runs before this test",
    "ci/test unit": "runs before this test",
    "ci/test torch": "runs before this test",
    "ci/test fuzz": "runs before this test",
    "ci/test gpu": "runs before this test",
    "ci/test e2e": "runs this test",
    "ci/test versions": "runs after this test",
    "ci/test cluster": "runs after this test",
    "ci/test tree": "runs after this test",
    "ci/network --mbit 400 -- .venv/bin/bench suite collectives --quick --case across_nodes --world 2x1": (
        "test_known_network.py"
    ),
    "pip install '.[analysis]'": "versions/test_next_to_torch.py, with the wheel",
    "bench suite smoke --quick --python ~/mine/bin/python": "test_other_python.py",
    "bench run -- ~/mine/bin/python train.py": "test_other_python.py",
    "nvidia-smi --query-gpu=driver_version --format=csv,noheader": "needs a GPU",
    "python -m ensurepip": "changes the environment of the tests",
    "python -m pip install ./bench/probe": "needs a package index",
    "module load pytorch": "needs a centre's modules",
    "python3 -m venv --system-site-packages /apps/scalebench": "versions/test_next_to_torch.py, with the wheel",
    "/apps/scalebench/bin/pip install '.[analysis]'": "versions/test_next_to_torch.py, with the wheel",
    "pip wheel --wheel-dir wheels '.[analysis]'": "needs a package index",
    "pip install --no-index -f wheels 'scalebench[analysis]'": "needs what the line before fetches",
    "mpiexec -n 2 --map-by ppr:1:node --bind-to none bench suite ddpm_scaling": "test_any_launcher.py, on one node",
    "mpiexec -n 2 -ppn 1 bench run -- python train.py": "test_any_launcher.py, on one node",
    "bench run --world 1,2 -- python docs/custom/gpt.py --batch-size 8 --accumulate 2": "test_custom_examples.py",
    "bench run --world 1,2 -- python docs/custom/gan.py": "test_custom_examples.py",
    "bench run --world 1,2 -- python docs/custom/graphs.py": "test_custom_examples.py",
    "bench run --world 2 --examples-per-step 128 -- python docs/custom/pipeline.py --batch-size 256": (
        "test_custom_examples.py"
    ),
    "bench run --world 1 -- python train.py": "test_predict.py",
    "bench run --resume SESSION": "test_run_command.py",
    "bench predict --world 8x8 --bus-gbps 25 --latency-us 20 -- python train.py": "test_predict.py",
    **{command: "cluster/test_cluster_page.py" for command in shown_commands() if needs_a_cluster(command)},
}
"""Command in the document -> test that runs it."""
SHIPPED = {path.stem for path in (ROOT / "suites").glob("*.yaml")}
NEEDS_CHROMIUM = "ci/docs --picture"
COMMANDS = [command for command in shown_commands() if command not in ELSEWHERE]
VARIED = [command for command in COMMANDS if re.match(r"bench suite \./my_suite\.yaml .*--set", command)]
"""Commands that change the example suite: each is planned as written, and all changes run in one session."""

Shell = Callable[[str], subprocess.CompletedProcess[str]]
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
SPECIAL = re.compile(r"[|&;<>$`\\*?(){}~#\n\"']")


@contextmanager
def shell_in(folder: Path) -> Iterator[Shell]:
    """Run a line as bash would; programs of the copy and of this environment come first. A line that is one call of
    `bench` runs in a process that imports it once for all of them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BENCH_")}
    path = f"{ROOT / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
    environment = kept | {"PATH": path, "PYTHONPATH": str(folder), "NO_COLOR": "1"}
    with OneProcess(environment) as one_process:

        def run(line: str) -> subprocess.CompletedProcess[str]:
            if line.startswith("bench ") and not SPECIAL.search(QUOTED.sub("", line)):
                return one_process.run(*shlex.split(line)[1:], cwd=folder)
            command = ["bash", "-c", line]
            return subprocess.run(
                command, cwd=folder, env=environment, text=True, capture_output=True, check=False, timeout=600
            )

        yield run


@pytest.fixture(scope="module")
def shell_once(shell: Shell) -> Shell:
    """The shell, for lines that show nothing new when they run again."""
    return functools.cache(shell)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents") / "scalebench"
    copy_of_the_checkout(folder)
    return folder


@pytest.fixture(scope="module")
def shell(checkout: Path) -> Iterator[Shell]:
    """A checkout as a reader of the documents has it, with sessions and the files that some pages say to save."""
    folder = checkout
    pages = ("first-suite.md", "scripts.md", "diagnosis.md", "how-to/own-suite.md", "how-to/own-strategy.md")
    for page in (f"docs/{name}" for name in pages):
        for name, text in saved_examples(ROOT / page).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
    shutil.copyfile(folder / "batch_sweep_ddp.yaml", folder / "FILE.yaml")
    (folder / "DIR").mkdir()
    for session_id in ("A", "B"):
        make_session(folder / "results", [Case(name="ddp", step_ms={1: 10.0, 2: 6.0})], session_id=session_id)
    with shell_in(folder) as run:
        # one line: in a shell of its own, so that no process holds the session's lock
        done = run(
            "bench suite smoke --quick --repeats 3 --case ddp_strong --session SESSION && bench report --out public"
        )
        assert done.returncode == 0, done.stderr
        shutil.copytree(folder / "results", folder / "RESULTS")
        yield run


def in_brief(command: str) -> str:
    """The command to run: shipped suites are only planned, because test_shipped_suites.py runs them, as are the
    commands that one session runs here; a command without arguments gets --help."""
    whole_suite = re.fullmatch(r"(?:time )?(bench suite (\w+)(?: --quick)?)", command)
    if whole_suite and whole_suite[2] in SHIPPED:
        return f"{whole_suite[1]} --dry-run"
    if command in VARIED:
        return f"{command} --dry-run"
    return f"{command} --help" if re.fullmatch(r"bench \w+", command) else command


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_shown_works(
    command: str, shell_once: Shell, require_program: Callable[[str], str]
) -> None:
    if command.startswith(NEEDS_CHROMIUM):
        require_program("chromium")
        require_program("chromedriver")
    done = shell_once(INSTEAD.get(command) or in_brief(command))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_session_in_one_file_has_no_logs_and_gives_the_same_figures_elsewhere(
    shell: Shell, checkout: Path
) -> None:
    for name in ("rank0.log", "trace.rank0.json.gz"):
        (checkout / "results/A/ddp.1x1.r0" / name).touch()
    (pack,) = (command for command in COMMANDS if command.startswith("tar -czf"))
    done = shell(f"{pack} && mkdir there && tar -xzf A.tar.gz -C there && bench load there")
    assert done.returncode == 0, done.stderr
    packed, kept = (
        {path.relative_to(folder / "A").as_posix() for path in (folder / "A").rglob("*") if path.is_file()}
        for folder in (checkout / "there", checkout / "results")
    )
    assert kept - packed == {"ddp.1x1.r0/rank0.log", "ddp.1x1.r0/trace.rank0.json.gz"}
    assert packed < kept
    query = "bench sql \"FROM scaling WHERE session_id = 'A' ORDER BY ALL\" --format csv"
    here, there = (shell(f"{query} --results {folder}").stdout for folder in ("results", "there"))
    assert here == there != ""


def changed_case(command: str) -> dict[str, Any]:
    """The case `ddp` of the example suite with the command's --set."""
    case: dict[str, Any] = {"name": f"change{VARIED.index(command)}", "strategy": "ddp", "world": [2]}
    case |= {"scaling": "strong", "global_batch": 256}
    words = shlex.split(command)
    for setting in (word for option, word in pairwise(words) if option == "--set"):
        key, value = setting.split("=", 1)
        *path, last = key.removeprefix("cases.ddp.").split(".")
        place = case
        for part in path:
            place = place.setdefault(part, {})
        place[last] = yaml.safe_load(value)
    return case


@pytest.fixture(scope="module")
def changed_runs(shell: Shell, checkout: Path) -> dict[str, dict[str, Any]]:
    """Outcome by case: the changed ones, and those of batch_sweep_ddp.yaml."""
    example, sweep = (
        yaml.safe_load((checkout / name).read_text()) for name in ("my_suite.yaml", "batch_sweep_ddp.yaml")
    )
    suite = {
        "title": "The example with each change, and the sweep",
        "workload": example["workload"],
        "measure": {"warmup": 1, "steps": 4, "repeats": 1},
        "cases": [
            *map(changed_case, VARIED),
            *(case | {"workload": sweep["workload"], "world": [2]} for case in sweep["cases"]),
        ],
    }
    (checkout / "changed.yaml").write_text(json.dumps(suite))
    done = shell(
        "bench suite ./changed.yaml --results changed --session changed --ranks-per-node 2 --no-load"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    runs = (json.loads(path.read_text()) for path in (checkout / "changed/changed").glob("*/run.json"))
    return {run["spec"]["case_name"]: run["outcome"] for run in runs}


@pytest.mark.parametrize("command", VARIED)
def test_a_change_of_the_example_suite_trains(command: str, changed_runs: dict[str, dict[str, Any]]) -> None:
    found = changed_runs[changed_case(command)["name"]]
    assert (found["status"], found["error"]) == ("ok", None)


def test_the_sweep_trains(changed_runs: dict[str, dict[str, Any]]) -> None:
    found = {name: run["status"] for name, run in changed_runs.items() if not name.startswith("change")}
    assert found == {"ddp~batch_per_rank=16": "ok", "ddp~batch_per_rank=64": "ok"}


def test_what_is_run_otherwise_is_still_shown() -> None:
    assert sorted((INSTEAD.keys() | ELSEWHERE.keys()) - set(shown_commands())) == []


def test_the_documents_show_their_commands_where_this_test_finds_them() -> None:
    assert {"ci/quickstart", "bench doctor", "bench suite --resume SESSION"} <= set(shown_commands())


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Shell]]:
    """A checkout with the examples of CONTRIBUTING.md saved where it says, and a session that uses them."""
    folder = tmp_path_factory.mktemp("contributing") / "scalebench"
    copy_of_the_checkout(folder)
    for name, text in saved_examples(ROOT / "CONTRIBUTING.md").items():
        assert not (folder / name).exists(), f"{name} is there already: the example would replace it"
        (folder / name).write_text(text)
    (folder / "own.yaml").write_text(OWN)
    with shell_in(folder) as run:
        for line in ("bench suite own.yaml --ranks-per-node 2", "bench report --out public"):
            done = run(line)
            assert done.returncode == 0, done.stdout + done.stderr
        yield folder, run


OWN = """
title: What CONTRIBUTING.md adds
workload: {name: copy_task, width: 32}
device: cpu
measure: {warmup: 1, steps: 20, repeats: 1, timeout_s: 60}
cases:
  - {name: free, strategy: unsynchronised, scaling: weak, batch_per_rank: 8, world: [1, 2], train: {clip_norm: 1.0}}
"""


def test_the_examples_are_those_that_contributing_promises() -> None:
    folders = [str(Path(name).parent) for name in saved_examples(ROOT / "CONTRIBUTING.md")]
    assert folders == [
        "bench/workloads", "bench/strategies", "results.duckdb-schema/derived", "results.duckdb-schema/rules",
        "tests/unit/diagnosis/planted", "analysis/report/queries", "analysis/report/charts",
        "analysis/export/formats", "bench/cli", "bench/doctor/checks",
    ]  # fmt: skip


def test_an_added_workload_and_strategy_train(extended: tuple[Path, Shell]) -> None:
    _, run = extended
    done = run('bench sql "SELECT run_id, workload, strategy, status FROM runs ORDER BY 1" --format csv')
    assert done.stdout.splitlines()[1:] == [
        '"free.1x1.r0","copy_task","unsynchronised","ok"',
        '"free.1x2.r0","copy_task","unsynchronised","ok"',
    ]


def test_an_added_workload_trains_as_contributing_says(extended: tuple[Path, Shell]) -> None:
    _, run = extended
    done = run(f"{TRY_THE_WORKLOAD} --case single --repeats 1 --results tried")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_added_derived_table_answers(extended: tuple[Path, Shell]) -> None:
    _, run = extended
    done = run(
        'bench sql "SELECT run_id, measured_steps, share <= 1 FROM slow_steps ORDER BY 1" --format csv'
    )
    assert done.stdout.splitlines()[1:] == ['"free.1x1.r0",20,true', '"free.1x2.r0",20,true']


def test_an_added_rule_fires_where_its_cause_is_planted(extended: tuple[Path, Shell]) -> None:
    _, run = extended
    done = run(
        ".venv/bin/pytest -p no:cacheprovider -q tests/unit/diagnosis/test_rules.py -k many_slow_steps"
    )
    assert (done.returncode, done.stdout[:4]) == (0, "...."), done.stdout


def test_an_added_workload_passes_the_tests_of_all(extended: tuple[Path, Shell]) -> None:
    _, run = extended
    files = "tests/unit/workloads/test_workloads.py tests/unit/test_bare_loops.py"
    done = run(
        f".venv/bin/pytest -p no:cacheprovider -q {files} -k 'copy_task or imports_torch or bare_loop'"
    )
    assert done.returncode == 0, done.stdout


def test_an_added_chart_stands_in_the_report(extended: tuple[Path, Shell]) -> None:
    folder, _ = extended
    (page,) = (folder / "public").glob("*-own-*.html")
    assert "How many steps are slow?" in page.read_text(encoding="utf-8")


def test_an_added_format_is_offered_and_written(extended: tuple[Path, Shell]) -> None:
    _, run = extended
    assert "|slack|" in run("bench export --help").stdout
    written = run("bench export --format slack").stdout
    assert written.startswith("free on 2 ranks is ")
    assert "\nfree  1  " in written


def test_an_added_command_is_listed_and_runs(extended: tuple[Path, Shell]) -> None:
    folder, run = extended
    assert "Say where results are." in run("bench --help").stdout
    assert run("bench where").stdout == f"{folder}/results\n"


def test_an_added_check_is_made_by_the_doctor(extended: tuple[Path, Shell]) -> None:
    _, run = extended
    assert "processes" in run("bench doctor").stdout


def test_what_is_added_is_described_once_the_pages_are_written_anew(extended: tuple[Path, Shell]) -> None:
    folder, run = extended
    assert run("ci/docs --check").returncode == 1
    assert run("ci/docs").returncode == 0
    assert "### copy_task\n" in (folder / "docs/suites.md").read_text()
    assert "### slow_steps\n" in (folder / "docs/schema.md").read_text()
    assert "## where\n" in (folder / "docs/commands.md").read_text()
    assert run("ci/docs --check").returncode == 0


def test_what_is_added_passes_lint_and_types(extended: tuple[Path, Shell]) -> None:
    _, run = extended
    names = " ".join(name for name in saved_examples(ROOT / "CONTRIBUTING.md") if name.endswith(".py"))
    done = run(f"ruff check {names} && ruff format --check {names}")
    assert done.returncode == 0, done.stdout
