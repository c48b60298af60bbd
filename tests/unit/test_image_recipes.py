"""Apptainer's recipes as text: the cluster tests build the one for CUDA; nothing builds the one for ROCm yet."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = ("apptainer.def", "apptainer-rocm.def")
SHELL = ("post", "environment", "runscript", "test")


def sections(recipe: str) -> dict[str, str]:
    """By name; `` has the lines before the first one."""
    _, *found = re.split(r"^%(?=\w)", (ROOT / recipe).read_text(), flags=re.MULTILINE)
    return dict(section.split("\n", 1) for section in found)


def filled(recipe: str, section: str) -> str:
    """The section with the defaults of the arguments. Apptainer refuses one that has none."""
    defaults = dict(
        line.strip().split("=", 1) for line in sections(recipe)["arguments"].split("\n") if line.strip()
    )
    return re.sub(r"\{\{ (\w+) \}\}", lambda name: defaults[name[1]], sections(recipe)[section])


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_part_is_there_and_every_program_is_sh(recipe: str) -> None:
    found = sections(recipe)
    assert found.keys() == {
        "arguments",
        "files",
        "post",
        "labels",
        "environment",
        "runscript",
        "test",
        "help",
    }
    for section in SHELL:
        parsed = subprocess.run(
            ["sh", "-n"], input=filled(recipe, section), text=True, capture_output=True, check=False
        )
        assert parsed.returncode == 0, parsed.stderr
    filled(recipe, "labels")


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_file_that_is_copied_exists(recipe: str) -> None:
    copied = [line.split()[0] for line in sections(recipe)["files"].splitlines() if line.strip()]
    assert [path for path in copied if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("section", ["files", "environment", "runscript", "test"])
def test_both_recipes_have_the_same_files_and_the_same_ways_to_run(section: str) -> None:
    cuda, rocm = (sections(recipe)[section] for recipe in RECIPES)
    assert rocm == cuda


def test_only_the_one_for_amd_starts_with_rocm() -> None:
    for recipe, own, other in (("apptainer.def", "--nv", "--rocm"), ("apptainer-rocm.def", "--rocm", "--nv")):
        text = sections(recipe)["help"]
        assert own in text
        assert other not in text


def _uv(words: str) -> str:
    program = f'. ci/uv.sh; find_python; find_uv; "$uv" {words}'
    return subprocess.run(
        ["bash", "-euc", program], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def test_torch_for_rocm_has_the_version_of_the_lock() -> None:
    """The recipe reads it with sed, and names a ROCm that uv knows."""
    post = filled("apptainer-rocm.def", "post")
    (backend,) = re.findall(r'--torch-backend "(\S+)"', post)
    assert re.search(rf"\b{re.escape(backend)}\b", _uv("pip install --help"))
    reading = [line for line in post.splitlines() if re.match(r"\s+torch(vision)?=\$\(", line)]
    program = "\n".join([*reading, 'echo "$torch $torchvision"'])
    done = subprocess.run(["sh", "-c", program], cwd=ROOT, text=True, capture_output=True, check=True)
    locked = {one["name"]: one["version"] for one in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    assert done.stdout.split() == [locked["torch"], locked["torchvision"]]


def test_what_is_installed_besides_torch_has_nothing_of_cuda(tmp_path: Path) -> None:
    (line,) = re.findall(r"/opt/uv/bin/uv (export (?:[^\n\\]|\\\n)*)", filled("apptainer-rocm.def", "post"))
    line = line.replace("/tmp/requirements.txt", str(tmp_path / "wanted"))
    _uv(line)
    wanted = set(re.findall(r"^([a-z0-9-]+)==", (tmp_path / "wanted").read_text(), re.MULTILINE))
    assert {
        "numpy",
        "pyarrow",
        "duckdb",
        "nvidia-ml-py",
    } <= wanted  # the last one is a binding without a library
    assert [name for name in wanted if name.startswith(("torch", "nvidia-", "triton", "cuda"))] == [
        "nvidia-ml-py"
    ]
