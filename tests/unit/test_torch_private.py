"""Private names of torch are in one table of bench and in one of the probe."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.common import torch_private
from bench.probe.bench_probe import torch_private as of_probe

ROOT = Path(__file__).parents[2]
TABLES = {"bench": ROOT / torch_private.__file__, "probe": ROOT / of_probe.__file__}
FILES = [path for path in sorted(ROOT.glob("bench/**/*.py")) if path not in TABLES.values()]
OWN = {"_bench_number", "_bench_source", "_bench_unscaled"}
"""Attributes that the probe adds to objects of the script."""


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def used(code: str, here: set[str] = frozenset()) -> Iterator[str]:  # type: ignore[assignment]
    """The private names of others that the code uses; `here`: names of its own."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("torch") and any(map(private, alias.name.split("."))):
                    yield alias.name
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            for alias in node.names:
                if any(map(private, f"{node.module}.{alias.name}".split("."))):
                    yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in here:
            owner = ast.unparse(node.value)
            if owner.split(".")[0] not in ("self", "cls", *sys.stdlib_module_names):
                yield f"{owner}.{node.attr}"
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("getattr", "setattr", "hasattr", "delattr")
            and isinstance(node.args[1], ast.Constant)
            and private(str(node.args[1].value))
            and node.args[1].value not in here
        ):
            yield ast.unparse(node)


def defined(code: str) -> Iterator[str]:
    """The private names that the code itself defines: functions, and attributes of its own objects."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and ast.unparse(node.value) == "self"
        ):
            yield node.attr


def test_no_other_file_uses_a_private_name_of_torch() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in FILES
        for code in [path.read_text()]
        for name in used(code, OWN | {*defined(code)})
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "import torch._dynamo",
        "from torch._ops import OpOverload",
        "from torch.utils import _pytree",
        "def f():\n    from torch.amp.autocast_mode import _cast",
        "torch._C._current_graph_task_id()",
        "torch.ops.aten._local_scalar_dense.default",
        "func._schema.name",
        "getattr(tensor, '_local_tensor', tensor)",
    ],
)
def test_a_private_name_of_torch_is_seen_wherever_it_stands(code: str) -> None:
    assert [*used(code)] != []


@pytest.mark.parametrize("table", TABLES)
def test_every_name_of_a_table_is_used(table: str) -> None:
    names = (torch_private if table == "bench" else of_probe).NAMES
    folder = ROOT / ("bench/probe" if table == "probe" else "bench")
    words = {
        word
        for path in FILES
        if path.is_relative_to(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        for word in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom)
            else [node.attr]
            if isinstance(node, ast.Attribute)
            else [node.value]
            if isinstance(node, ast.Constant)
            else []
        )
    }
    assert {*names} - words == set()


def test_a_table_imports_no_torch_before_a_name_is_asked_for() -> None:
    program = (
        "import sys\nfrom bench.common import torch_private\n"
        "before = 'torch' in sys.modules\ntorch_private.scaled_mm\nprint(before, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_a_name_that_is_not_in_the_table_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute '_scaled_mm'"):
        torch_private._scaled_mm  # noqa: B018
