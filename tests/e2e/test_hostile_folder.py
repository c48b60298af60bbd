"""The current folder has files with the names of modules; no Python that `bench` starts imports them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

BENCH = str(Path(sys.executable).with_name("bench"))
HOSTILE = (
    "analysis.py",
    "bench.py",
    "ctypes.py",
    "json.py",
    "numpy.py",
    "selectors.py",
    "sitecustomize.py",
    "torch.py",
)
HOSTILE_TO_A_MODULE = tuple(name for name in HOSTILE if name != "bench.py")
"""`python -m bench` is told to run bench.py of the current folder, so this list leaves it out."""
CODE = """
import sys
with open({marker!r}, "a") as marker:
    print({name!r}, sys.orig_argv, file=marker)
raise SystemExit("hostile")
"""
MINE = '''
"""Adds a folder with hostile files to the front of sys.path, as scripts do; and starts a script."""
import subprocess, sys
from pathlib import Path

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE))

import torch
from torch import nn

import neighbour
from bench.workloads import Workload


class Mine(Workload):
    def model(self):
        subprocess.run([sys.executable, str(HERE / "scripts/asked.py")], check=True)
        import colorsys  # a module of the standard library that is not imported yet
        return nn.Linear(neighbour.WIDTH, 1)

    def batch(self, places, keys):
        return {"points": torch.ones(len(places), neighbour.WIDTH)}

    def loss(self, model, batch):
        return model(batch["points"]).square().mean()
'''
ASKED = """
import json, os, sys
from pathlib import Path

import bench

ours = [name for name in os.environ if name == "PYTHONSAFEPATH" or name.startswith("BENCH_CALLER")]
said = [bench.__file__, sys.flags.safe_path, os.environ.get("PYTHONPATH"), ours]
Path(__file__).with_suffix(".json").write_text(json.dumps(said))
"""


def hostile_folder(folder: Path, names: Iterable[str] = HOSTILE) -> Path:
    """Write the hostile files; return the file in which imported ones record their names."""
    marker = folder / "imported"
    for name in (*names, "colorsys.py"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CODE.format(marker=str(marker), name=name))
    return marker


def suite(folder: Path, workload: str) -> None:
    described = {
        "title": "Mine",
        "why": "To be run in a hostile folder.",
        "workload": {"name": workload},
        "device": "cpu",
        "measure": {"warmup": 1, "steps": 3, "repeats": 1},
        "cases": [{"name": "d", "strategy": "ddp", "scaling": "weak", "batch_per_rank": 8, "world": [1, 2]}],
    }
    (folder / "mine.yaml").write_text(json.dumps(described))  # JSON is YAML


def bench(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BENCH, *arguments], cwd=folder, env=os.environ | environ, capture_output=True, text=True, check=False
    )


def imported(marker: Path) -> str:
    return marker.read_text() if marker.exists() else ""


def test_a_session_in_a_hostile_folder_imports_none_of_its_files_and_its_script_is_as_without_us(
    tmp_path: Path,
) -> None:
    marker = hostile_folder(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/own.py").write_text(MINE)
    (tmp_path / "neighbour.py").write_text("WIDTH = 3\n")
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "asked.py").write_text(ASKED)
    (scripts / "bench.py").write_text("")
    suite(tmp_path, "./mine/own.py:Mine")
    caller = str(tmp_path / "elsewhere")
    session = ("--ranks-per-node", "2", "--session", "s")
    done = bench(tmp_path, "suite", "./mine.yaml", *session, PYTHONPATH=caller)
    assert (imported(marker), done.returncode) == ("", 0), done.stderr
    assert "1 session, 2 runs, 12 step rows loaded" in done.stdout
    assert json.loads((scripts / "asked.json").read_text()) == [str(scripts / "bench.py"), False, caller, []]
    done = bench(tmp_path, "report", "--out", "public")
    assert (imported(marker), done.returncode) == ("", 0), done.stderr


def test_a_workload_that_imports_a_module_with_a_hostile_file_next_to_it_is_refused(tmp_path: Path) -> None:
    marker = hostile_folder(tmp_path)
    (tmp_path / "own.py").write_text("import torch\n")
    suite(tmp_path, "./own.py:Mine")
    done = bench(tmp_path, "suite", "./mine.yaml")
    assert (imported(marker), done.returncode) == ("", 2)
    assert f"torch/__init__.py before {tmp_path / 'torch.py'}: rename the latter" in done.stderr


PREDICT = ["predict", "./mine.yaml", "--world", "2"]


@pytest.mark.parametrize(
    ("names", "commands"),
    [(HOSTILE, [["doctor"], PREDICT]), (("bench/__init__.py",), [PREDICT])],
    ids=["modules", "a folder bench"],
)
def test_no_other_command_that_starts_a_python_imports_them(
    tmp_path: Path, names: tuple[str, ...], commands: list[list[str]]
) -> None:
    marker = hostile_folder(tmp_path, names)
    suite(tmp_path, "spiral_mlp")
    for command in commands:
        done = bench(tmp_path, *command)
        assert (imported(marker), done.returncode) == ("", 0), done.stdout + done.stderr


def test_an_empty_entry_of_pythonpath_is_for_no_python_that_we_start(tmp_path: Path) -> None:
    # the first Python is not ours to start: it imports some modules before our first line
    marker = hostile_folder(tmp_path, ("analysis.py", "numpy.py", "torch.py"))
    suite(tmp_path, "spiral_mlp")
    call = ("suite", "./mine.yaml", "--world", "1", "--session", "s", "--no-load")
    done = bench(tmp_path, *call, PYTHONPATH=f"{tmp_path / 'elsewhere'}:")
    assert (imported(marker), done.returncode) == ("", 0), done.stderr


def test_called_as_a_module_it_imports_nothing_from_the_current_folder_but_itself(tmp_path: Path) -> None:
    marker = hostile_folder(tmp_path, HOSTILE_TO_A_MODULE)
    command = [sys.executable, "-m", "bench", "show", "smoke"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (imported(marker), done.returncode) == ("", 0), done.stderr


VECTOR_INSTRUCTIONS = """
import sys
sys.path.insert(0, sys.argv[1])  # as a workload's file does
from bench.common import safe_path
from bench.train import compilation
compilation.exclude_current_folder()
from torch._inductor.cpu_vec_isa import VecAVX2
print(bool(VecAVX2()))
"""


def test_torch_compiles_without_files_of_the_current_folder_or_of_one_that_user_code_added(
    tmp_path: Path,
) -> None:
    """torch starts a Python to try vector instructions; if that fails, it silently does not use them."""
    marker = hostile_folder(tmp_path, ("ctypes.py", "sitecustomize.py"))
    program = "from bench.common.safe_path import protect_imports\nprotect_imports()\n" + VECTOR_INSTRUCTIONS
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}  # an empty cache
    command = [sys.executable, "-P", "-c", program, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (imported(marker), done.returncode) == ("", 0), done.stderr
    assert (done.stdout == "True\n") == ("avx2" in Path("/proc/cpuinfo").read_text())


def test_a_checkout_that_is_installed_nowhere_runs_from_its_folder(tmp_path: Path) -> None:
    checkout = Path(__file__).parents[2]
    for name in ("analysis", "bench", "results.duckdb-schema", "suites"):
        shutil.copytree(checkout / name, tmp_path / name)
    suite(tmp_path, "spiral_mlp")
    # a Python that knows the packages, but not the installed checkout
    python = Path(sys.base_prefix, "bin", "python3")
    packages = os.pathsep.join(entry for entry in sys.path if entry.endswith("site-packages"))
    command = [str(python), "-m", "bench", "suite", "./mine.yaml", "--world", "1", "--session", "s"]
    environment = os.environ | {"PYTHONPATH": packages}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 session, 1 run, 4 step rows loaded" in done.stdout
    # sensors and keeper are separate Pythons, which report if they cannot import our code
    assert "No module named" not in done.stderr
