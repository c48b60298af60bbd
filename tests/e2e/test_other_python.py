"""Ranks in another environment, which has torch and numpy and into which nothing is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OF_TORCH = (
    *("torch", "torchgen", "functorch", "numpy", "numpy.libs", "sympy", "mpmath", "typing_extensions.py"),
    *("filelock", "fsspec", "networkx", "jinja2", "markupsafe", "nvidia", "triton", "cuda"),
)
"""torch, numpy and what they need: nothing else can be imported in the other environment."""
NOTE = "import sys; open({file!r}, 'a').write(sys.prefix + chr(10))\n"


def _environment(folder: Path, names: tuple[str, ...]) -> Path:
    """Links to these packages of this environment; a file `started` gets a line for each Python that starts there."""
    venv.create(folder, with_pip=False)
    here = Path(sysconfig.get_path("purelib"))
    (site,) = folder.glob("lib/python3*/site-packages")
    versions = [info.name for name in ("torch", "numpy") for info in here.glob(f"{name}-*.dist-info")]
    for name in (*names, *(versions if names else ())):
        if (here / name).exists():
            (site / name).symlink_to(here / name)
    (site / "sitecustomize.py").write_text(NOTE.format(file=str(folder / "started")))
    return folder / "bin/python"


def _files(environment: Path) -> set[Path]:
    """All files and folders but the bytecode that any Python caches."""
    return {path for path in environment.rglob("*") if "__pycache__" not in path.parts}


def _bench(results: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "bench", "suite", *arguments, "--results", results]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_ranks_run_in_another_environment_that_keeps_its_packages(tmp_path: Path) -> None:
    python = _environment(tmp_path / "mine", OF_TORCH)
    before = _files(tmp_path / "mine")
    chosen = ("--quick", "--case", "ddp_strong", "--world", "1,2", "--repeats", "1", "--device", "cpu")
    done = _bench(tmp_path / "results", "smoke", *chosen, "--python", python, "--session", "elsewhere")
    assert done.returncode == 0, done.stderr
    assert _files(tmp_path / "mine") - before == {tmp_path / "mine/started"}
    started = (tmp_path / "mine/started").read_text().splitlines()
    assert set(started) == {str(tmp_path / "mine")}

    session = tmp_path / "results/elsewhere"
    facts = json.loads((session / "session.json").read_text())["environment"]["0"]
    assert facts["ranks_python"] == str(python)
    assert facts["torchvision"] == "not installed"
    assert facts["torch"].split("+")[0] == _version("torch")

    run = next(session.glob("runs/*1x2*/run.json"), None) or next(session.rglob("*1x2*/run.json"))
    run.unlink()
    resumed = _bench(tmp_path / "results", "--resume", "elsewhere")
    assert resumed.returncode == 0, resumed.stderr
    assert run.is_file()
    assert len((tmp_path / "mine/started").read_text().splitlines()) > len(started)


def test_without_torchvision_the_cases_that_need_it_are_skipped_and_the_others_run(tmp_path: Path) -> None:
    python = _environment(tmp_path / "mine", OF_TORCH)
    chosen = (
        "--quick",
        "--case",
        "resnet50",
        "--case",
        "transformer_lm",
        "--repeats",
        "1",
        "--device",
        "cpu",
    )
    done = _bench(
        tmp_path / "results", "gpu_throughput", *chosen, "--python", python, "--session", "elsewhere"
    )
    assert done.returncode == 0, done.stderr
    runs = (json.loads(path.read_text()) for path in (tmp_path / "results/elsewhere").glob("*/run.json"))
    ends = {run["run_id"].split(".")[0]: run["outcome"] for run in runs}
    assert {case: end["status"] for case, end in ends.items()} == {
        "resnet50": "skipped",
        "transformer_lm": "ok",
    }
    install = f"{python} -m pip install torchvision torch=={_version('torch')}"
    assert ends["resnet50"]["error"] == (
        f"torchvision is missing, which resnet50 or its data need: `{install}` installs it"
    )


def test_a_torch_for_gpus_of_another_vendor_is_refused(tmp_path: Path) -> None:
    python = _environment(tmp_path / "mine", ("numpy",))
    (torch,) = (tmp_path / "mine").glob("lib/python3*/site-packages")
    (torch / "torch").mkdir()
    (torch / "torch/__init__.py").touch()
    (torch / "torch/version.py").write_text("hip: Optional[str] = '6.4.43482'\n")
    refused = _bench(tmp_path / "results", "smoke", "--quick", "--python", python)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == (
        f"error: --python {python}: its torch and the one here use GPUs of different vendors, and scalebench looks "
        "for those of its own torch: install scalebench next to that torch"
    )


def _version(package: str) -> str:
    from importlib import metadata

    return metadata.version(package).split("+")[0]


def test_what_the_other_python_lacks_is_one_line_before_anything_is_measured(tmp_path: Path) -> None:
    python = _environment(tmp_path / "bare", ())
    lacks = _bench(tmp_path / "results", "smoke", "--quick", "--python", python)
    install = f"`{python} -m pip install torch numpy` installs it"
    assert (lacks.returncode, lacks.stderr.splitlines()[-1]) == (
        2,
        f"error: --python {python}: it has no torch and no numpy: {install}",
    )
    assert not list((tmp_path / "results").glob("*/session.json"))


def test_a_python_of_another_version_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "python"
    answer = json.dumps({"python": "3.9.18", "missing": [], "torch": None, "versions": {}})
    other.write_text(f"#!/bin/sh\necho 'scalebench: {answer}'\necho goodbye\n")
    other.chmod(0o755)
    refused = _bench(tmp_path / "results", "smoke", "--quick", "--python", other)
    here = ".".join(map(str, sys.version_info[:2]))
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == (
        f"error: --python {other}: it is Python 3.9, and this is {here}: install scalebench in an environment of "
        "Python 3.9"
    )


def _with_a_torch(folder: Path, init: str, version: str) -> Path:
    """An environment whose torch is this."""
    python = _environment(folder, ("numpy", "numpy.libs"))
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "torch").mkdir()
    (site / "torch/__init__.py").write_text(init)
    (site / "torch/version.py").write_text("hip = None\n")
    (site / f"torch-{version}.dist-info").mkdir()
    (site / f"torch-{version}.dist-info/METADATA").write_text(f"Name: torch\nVersion: {version}\n")
    return python


def test_a_torch_that_is_too_old_or_broken_is_told_in_one_line(tmp_path: Path) -> None:
    old = _with_a_torch(tmp_path / "old", "", "2.5.1")
    refused = _bench(tmp_path / "results", "smoke", "--quick", "--python", old)
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (
        2,
        f"error: --python {old}: its torch is 2.5.1, and scalebench measures with 2.6 or newer: install a newer torch",
    )
    broken = _with_a_torch(tmp_path / "broken", "raise OSError('libcudart.so.13: cannot open it')\n", "2.8.0")
    refused = _bench(tmp_path / "results", "smoke", "--quick", "--python", broken)
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (
        2,
        f"error: --python {broken}: its torch cannot be imported: OSError: libcudart.so.13: cannot open it",
    )


def test_a_bare_name_is_searched_on_path_and_what_is_left_of_a_torch_is_none(tmp_path: Path) -> None:
    python = _environment(tmp_path / "mine", ("numpy", "numpy.libs"))
    (site,) = (tmp_path / "mine").glob("lib/python3*/site-packages")
    (site / "torch/lib").mkdir(parents=True)
    line = [sys.executable, "-m", "bench", "suite", "smoke", "--quick", "--python", "python"]
    path = os.environ | {"PATH": f"{python.parent}:{os.environ['PATH']}"}
    refused = subprocess.run(line, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (
        2,
        f"error: --python {python}: it has no torch: `{python} -m pip install torch` installs it",
    )


@pytest.mark.parametrize(
    ("text", "happened"),
    [
        (None, "it does not start (No such file or directory)"),
        ("#!/bin/sh\n", "it runs no Python code"),
        ("#!/bin/sh\necho null\n", "it runs no Python code"),
        (
            "#!/bin/sh\necho first >&2; echo no libpython >&2; exit 127\n",
            "it ended with exit code 127 (no libpython)",
        ),
    ],
)
def test_what_does_not_answer_as_a_python_is_refused_by_suite_and_dry_run_and_told_by_batch(
    text: str | None, happened: str, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    if text is not None:
        other.write_text(text)
        other.chmod(0o755)
    here = ".".join(map(str, sys.version_info[:2]))
    said = (
        f"--python {other}: {happened}: give the path of a Python {here} that has torch, as in --python "
        "~/mine/bin/python"
    )
    for arguments in ((), ("--dry-run",)):
        refused = _bench(tmp_path / "results", "smoke", "--quick", "--python", other, *arguments)
        assert (refused.returncode, refused.stderr.splitlines()[-1]) == (2, f"error: {said}")
    assert not list((tmp_path / "results").glob("*/session.json"))
    line = [sys.executable, "-m", "bench", "batch", "smoke", "--python", other]
    batch = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert batch.returncode == 0
    assert f"bench: {said}; the script uses it on the nodes" in batch.stderr.splitlines()
