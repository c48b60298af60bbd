"""The images as users have them: their description of themselves, their contents, and the machines that they run
on."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster.conftest import ROOT, Cluster, build, inside

STACK = {"torch", "torchvision", "triton", "nvidia-nccl-cu13", "duckdb", "polars", "altair", "scalebench"}
"""Some of the contents that every image must have."""
RUN = "bench suite smoke --quick --repeats 1 --case ddp_strong"
INSTALLED = """
import importlib.metadata, json
print(json.dumps({d.name.lower(): d.version for d in importlib.metadata.distributions()}))
"""

COMPILED = """
import torch
double = torch.compile(lambda tensor: tensor.sin() * 0 + tensor * 2)
print("compiled", double(torch.ones(3))[0].item())
"""
"""torch.compile needs the compiler and a cache for this program."""


@pytest.fixture(scope="module")
def sif() -> Path:
    """bench.sif with the code of the checkout in it, on this machine."""
    return build("sif")


@pytest.fixture(scope="module")
def oci() -> Path:
    """The image of the Containerfile, as Apptainer converted it. Its copy of our code may be older than the
    checkout's."""
    return build("oci", "--any-code")


@pytest.fixture(scope="module")
def site() -> Path:
    """An image over a base that already has torch 2.11 and numpy 2.3, and no torchvision. A folder, as Apptainer's
    sandboxes are."""
    return build("site", "--any-code")


OF_THE_BASE = """
import numpy, torch
for package in (torch, numpy):
    place = "scalebench" if "/opt/scalebench" in package.__file__ else "the base"
    print(package.__name__, package.__version__.split("+")[0], "of", place)
"""

OWN = """
import json, pathlib
print(json.dumps([path.name for path in pathlib.Path("/opt/scalebench/.venv/lib").glob("python3*/site-packages/*")]))
"""
"""The folders of the image's own environment."""


class Shell:
    """Run lines on the cluster that use an image with its own code."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def try_(self, line: str) -> subprocess.CompletedProcess[str]:
        return self._cluster.run(line, user_code=True)

    def __call__(self, line: str) -> str:
        """Output of the line, which must succeed."""
        result = self.try_(line)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


@pytest.fixture
def shell(cluster: Cluster) -> Shell:
    return Shell(cluster)


def test_an_image_says_what_it_was_made_from(sif: Path, oci: Path, shell: Shell) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for image in (sif, oci):
        labels = _labels(shell, image)
        assert labels["org.opencontainers.image.title"] == "scalebench"
        assert labels["org.opencontainers.image.version"] == project["version"]
        assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", labels["org.opencontainers.image.revision"])
        assert labels["scalebench.lock.sha256"] == hashlib.sha256((ROOT / "uv.lock").read_bytes()).hexdigest()
        assert labels["scalebench.torch"] == "locked"


def _labels(shell: Shell, image: Path) -> Any:
    return json.loads(shell(f"apptainer inspect --json --labels {inside(image)}"))["data"]["attributes"][
        "labels"
    ]


def test_packages_are_those_of_the_lock(sif: Path, oci: Path, shell: Shell) -> None:
    locked = {
        (package["name"], package["version"])
        for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    }
    for image in (sif, oci):
        found = json.loads(shell(f"apptainer exec {inside(image)} python -c {shlex.quote(INSTALLED)}"))
        versions = {re.sub(r"[-_.]+", "-", name): version for name, version in found.items()}
        assert versions.keys() >= STACK
        assert set(versions.items()) - locked == set()


def test_an_image_is_small_enough_to_copy(sif: Path, oci: Path) -> None:
    assert sif.stat().st_size < 3.5e9
    assert oci.stat().st_size < 3.5e9


def test_help_shows_three_ways_to_run(sif: Path, shell: Shell) -> None:
    shown = shell(f"apptainer run-help {inside(sif)}")
    assert "apptainer run --nv bench.sif suite" in shown
    assert "srun --gpus 8 apptainer exec --nv bench.sif bench suite" in shown
    script = next(line for line in shown.splitlines() if "bench.sif batch" in line).replace("> job.sh", "")
    assert shell(script.replace("bench.sif", inside(sif))).startswith("#!/bin/bash\n")


def test_its_own_test_looks_at_the_machine(sif: Path, shell: Shell) -> None:
    assert "gloo works" in shell(f"apptainer test {inside(sif)}")


def test_run_passes_its_arguments_to_bench_as_they_are(sif: Path, shell: Shell) -> None:
    assert shell(f"apptainer run {inside(sif)} --help").startswith("Usage: bench ")
    result = shell.try_(f"apptainer run {inside(sif)} show 'no  such; suite'")
    assert result.returncode == 2
    assert "no  such; suite" in result.stderr


@pytest.mark.parametrize("place", ["/opt/scalebench/new", "/opt/scalebench/.venv/lib/new", "/etc/new"])
def test_nothing_in_an_image_can_be_written(sif: Path, shell: Shell, place: str) -> None:
    result = shell.try_(f"apptainer exec {inside(sif)} touch {place}")
    assert result.returncode == 1
    assert "Read-only file system" in result.stderr


def test_an_image_works_where_neither_home_nor_the_folder_can_be_written(sif: Path, shell: Shell) -> None:
    away = f"cd /images && apptainer exec --no-home --bind /results {inside(sif)}"
    assert (
        shell(f"{away} sh -c 'test ! -w . && test ! -w $HOME && echo $XDG_CACHE_HOME'")
        == "/tmp/scalebench-1000\n"
    )
    assert "/results/away" in shell(f"{away} {RUN} --world 1 --results /results/away")
    assert "compiled 2.0" in shell(
        f"{away} env TORCHINDUCTOR_COMPILE_THREADS=1 python -c {shlex.quote(COMPILED)}"
    )


def test_the_oci_image_runs_suites_and_is_not_root(oci: Path, shell: Shell) -> None:
    shown = shell(f"apptainer exec --bind /results {inside(oci)} {RUN} --results /results/oci")
    assert "ddp_strong on 2 ranks" in shown
    assert shell(f"apptainer exec {inside(oci)} bench --version").startswith("bench, version ")
    config = json.loads(Path(f"{oci}.json").read_text())["OCIv1"]["config"]
    assert (config["User"], config["Entrypoint"]) == ("bench", ["bench"])


@pytest.mark.shortest
def test_an_image_over_a_base_with_torch_leaves_that_torch_as_it_is(site: Path, shell: Shell) -> None:
    assert _labels(shell, site)["scalebench.torch"] == "base"
    shown = shell(f"apptainer exec {inside(site)} python -c {shlex.quote(OF_THE_BASE)}").splitlines()
    assert shown == ["torch 2.11.0 of the base", "numpy 2.3.5 of the base"]
    own = json.loads(shell(f"apptainer exec {inside(site)} python -I -S -c {shlex.quote(OWN)}"))
    assert {"bench", "duckdb", "altair"} <= set(own)
    assert not {name for name in own if name.startswith(("torch", "triton", "nvidia_c", "numpy"))}


@pytest.mark.shortest
def test_a_suite_runs_on_the_torch_of_the_base(site: Path, shell: Shell) -> None:
    bench = f"apptainer exec --bind /results {inside(site)} bench"
    shell(f"{bench} suite smoke --quick --repeats 1 --results /results/site")
    counted = shell(
        f"{bench} sql --results /results/site --format json "
        "'SELECT status, count(*) AS runs, any_value(fingerprint ->> $$torch$$) AS torch "
        "FROM runs GROUP BY status'"
    )
    (row,) = json.loads(counted)
    assert row["status"] == "ok"
    assert row["runs"] > 5
    assert row["torch"].startswith("2.11.0")
