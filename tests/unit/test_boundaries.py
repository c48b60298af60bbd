"""Boundaries of docs and code: allowed imports, limits on a command's cost, and forbidden contents of files."""

from __future__ import annotations

import ast
import functools
import graphlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    "torch",
    "torchvision",
    "altair",
    "polars",
    "duckdb",
    "pydantic",
    "pyarrow",
    "scipy",
    "rich",
    "jinja2",
}
ANALYSIS_ONLY = {"analysis", "duckdb", "altair", "polars", "pylatexenc", "scipy", "vl_convert", "jinja2"}
FORBIDDEN = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
NEVER_TORCH = (
    "bench/cli",
    "bench/suite",
    "bench/plan",
    "bench/session",
    "bench/agent",
    "bench/command",
    "bench/launch",
    "bench/cluster",
    "bench/slurm",
    "bench/machine",
    "bench/predict",
    "bench/records",
    "bench/importing",
)
LOADS_TORCH = "bench/agent/fork_server_preload.py"
"""The fork server alone runs it."""
DEVELOPERS_PROGRAM = "bench/data/digits/make.py"
"""Wrote the data files that ship; needs scikit-learn, a development dependency."""
TORCH_INSIDE_FUNCTIONS = ("bench/workloads", "bench/strategies", "bench/common")
SQL = re.compile(
    r"\s*(with\b.+\bas\b|select\b|insert into\b|create (or replace )?(table|view|macro)\b)", re.I | re.S
)


def tracked(*patterns: str) -> list[str]:
    """Files that git tracks or would add, so that a new file meets the same rules before its commit."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted(name for name in listed if (ROOT / name).is_file())


PYTHON = tracked("*.py")


@functools.cache
def tree(name: str) -> ast.Module:
    return ast.parse((ROOT / name).read_text(), filename=name)


@functools.cache
def nodes(name: str) -> tuple[ast.AST, ...]:
    """Everything in a file."""
    return tuple(ast.walk(tree(name)))


@functools.cache
def imported(name: str) -> tuple[tuple[str, int, bool], ...]:
    """Top package and line of each import, and whether it happens only when a function is called. Imports for type
    checking do not count."""
    return tuple(imports(tree(name)))


def imports(node: ast.AST, inside_function: bool = False) -> Iterator[tuple[str, int, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name.split(".")[0], child.lineno, inside_function) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"line {child.lineno}: imports are written in full"
            yield (child.module or "").split(".")[0], child.lineno, inside_function
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            yield from imports(ast.Module(child.orelse, []), inside_function)
        else:
            function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from imports(child, inside_function or function)


def crossing(folder: str, packages: set[str], *, only_at_top: bool = False) -> list[str]:
    """Places under `folder` (a prefix) that import one of `packages`."""
    return [
        f"{name}:{line} imports {package}"
        for name in PYTHON
        if name.startswith(folder)
        for package, line, inside in imported(name)
        if package in packages and not (only_at_top and inside)
    ]


def test_the_runner_never_imports_analysis_and_the_cli_only_inside_a_command() -> None:
    found = [place for place in crossing("bench/", ANALYSIS_ONLY) if not place.startswith("bench/cli/")]
    assert found + crossing("bench/cli/", ANALYSIS_ONLY, only_at_top=True) == []


@functools.cache
def modules(name: str) -> set[str]:
    """All that a file imports, in full."""
    found = set()
    for node in nodes(name):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_analysis_never_imports_torch_and_of_the_runner_only_its_records() -> None:
    assert crossing("analysis/", {"torch", "torchvision"}) == []
    found = {
        (name, module)
        for name in PYTHON
        if name.startswith("analysis/")
        for module in modules(name)
        if module.split(".")[0] == "bench" and not module.startswith("bench.records.")
    }
    assert found == set()


def test_records_import_nothing_of_the_runner_but_each_other() -> None:
    found = {module for name in PYTHON if name.startswith("bench/records/") for module in modules(name)}
    elsewhere = {module for module in found if module.split(".")[0] not in sys.stdlib_module_names}
    assert {module for module in elsewhere if not module.startswith("bench.records.")} == {"annotated_types"}


def test_rooms_that_only_start_and_watch_ranks_never_import_torch() -> None:
    found = [place for prefix in NEVER_TORCH for place in crossing(prefix, {"torch", "torchvision"})]
    assert {place.partition(":")[0] for place in found} == {LOADS_TORCH}


def test_what_is_trained_and_how_it_is_distributed_know_nothing_of_each_other() -> None:
    trained = ("bench/workloads/", "bench/models/", "bench/data/")
    found = [
        f"{name}: {module}"
        for name in PYTHON
        for module in modules(name)
        if (name.startswith(trained) and module.startswith("bench.strategies"))
        or (name.startswith("bench/strategies/") and module.startswith("bench.workloads"))
    ]
    assert found == []


def test_workloads_strategies_and_what_all_share_import_torch_only_inside_functions() -> None:
    found = [
        crossing(folder, {"torch", "torchvision"}, only_at_top=True) for folder in TORCH_INSIDE_FUNCTIONS
    ]
    assert found == [[], [], []]


def test_what_measures_knows_nothing_of_training() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name in PYTHON
        if name.startswith("bench/measure/")
        for node in nodes(name)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        and re.search(r"bench\.train|from bench import .*\btrain\b", ast.unparse(node))
    ]
    assert found == []


def test_the_measured_loop_knows_nothing_of_shadows() -> None:
    found = [
        f"{name}: {module}"
        for name in PYTHON
        if name.startswith("bench/train/")
        for module in modules(name)
        if module.startswith("bench.shadow")
    ]
    assert found == []


def declared() -> tuple[set[str], set[str]]:
    """Distributions that pyproject.toml asks for: for the runner, and with the extra `analysis`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    runner, torch, extra = (
        {re.split(r"[<>=!~ \[]", requirement)[0].lower() for requirement in requirements}
        for requirements in (
            project["dependencies"],
            *map(project["optional-dependencies"].get, ("torch", "analysis")),
        )
    )
    return runner | torch, runner | extra


@pytest.mark.parametrize(("folder", "extra"), [("bench/", 0), ("analysis/", 1)])
def test_every_imported_package_is_declared(folder: str, extra: int) -> None:
    allowed = declared()[extra]
    distributions = metadata.packages_distributions()
    own = set(sys.stdlib_module_names) | {"bench", "bench_probe", "analysis"}
    found = [
        f"{name}:{line} imports {package}"
        for name in PYTHON
        if name.startswith(folder) and not name.startswith(("bench/cli/", DEVELOPERS_PROGRAM))
        for package, line, _ in imported(name)
        if package not in own and not {d.lower() for d in distributions.get(package, [])} & allowed
    ]
    assert found == []


def test_no_modules_need_each_other_in_a_circle() -> None:
    names = {
        name.removesuffix("/__init__.py").removesuffix(".py").replace("/", "."): name
        for name in PYTHON
        if name.startswith(("bench/", "analysis/"))
    }
    graphlib.TopologicalSorter({module: needed(name, names) for module, name in names.items()}).prepare()


def needed(name: str, known: Collection[str]) -> set[str]:
    """The known modules that a file imports, also inside functions; without those that only its annotations name."""
    todo, found = [*tree(name).body], set[str]()
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ImportFrom):
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {part if part in known else str(node.module) for part in parts}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            todo += node.orelse
        else:
            todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.AST)]
    return found & {*known}


def test_nothing_is_unpickled_or_evaluated() -> None:
    assert [place for folder in ("bench/", "analysis/") for place in crossing(folder, FORBIDDEN)] == []
    found = [
        f"{name}:{node.lineno} calls {ast.unparse(node.func)}"
        for name in PYTHON
        if name.startswith(("bench/", "analysis/", "ci/"))
        for node in nodes(name)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func)
        in {
            "eval",
            "exec",
            "compile",
            "yaml.load",
            "yaml.unsafe_load",
            "yaml.full_load",
            "torch.load",
            "os.system",
        }
    ]
    assert found == []


def test_sql_lives_in_sql_files() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name in PYTHON
        if name.startswith(("bench/", "analysis/"))
        for node in nodes(name)
        if isinstance(node, (ast.Constant, ast.JoinedStr))
        and (node.end_lineno or node.lineno) > node.lineno
        and SQL.match(_text(node))
    ]
    assert found == []


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_text(part) if isinstance(part, ast.Constant) else "?" for part in node.values)


def test_no_except_swallows_everything() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name in PYTHON
        if name.startswith(("bench/", "analysis/"))
        for node in nodes(name)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) == "BaseException")
        and ast.unparse(node.body[-1]) != "raise"
    ]
    assert found == []


# A home, a working folder of one machine, or a package registry other than the public ones that the lock names.
MACHINE = re.compile(
    r"(?<![\w.$}/])/(?:home(?!/(?:user|bench)\b)|Users|root|work|workspace|mnt|opt/wheels)/[\w.-]"
    r"|https?://[^\s/\"']*(?:artifactory|nexus|registry|mirror|pypi)[^\s/\"']*/"
    r"|\b(?:index-url|extra-index-url|find-links)\b",
    re.I,
)


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for name in tracked():
        if name in ("uv.lock", "tests/unit/test_boundaries.py"):
            continue
        content = (ROOT / name).read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode().splitlines(), start=1):
            if match := MACHINE.search(line):
                found.append(f"{name}:{number} {match.group()}")
    assert found == []


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["suite", "--help"], ["doctor", "--help"]])
def test_a_light_command_imports_nothing_heavy(arguments: list[str]) -> None:
    assert (HEAVY | {"ctypes", "pynvml"}) & imported_by(*arguments) == set()


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["load"], {"numpy", "pyarrow", "polars", "altair", "jinja2", "torch"}),
        (["summary"], {"numpy", "pyarrow", "polars", "altair", "jinja2", "torch"}),
        (["sql", "FROM scaling"], {"polars", "altair", "jinja2", "torch"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_a_command_imports_what_it_uses(three_days: Path, arguments: list[str], unused: set[str]) -> None:
    assert unused & imported_by(*arguments, "--results", str(three_days)) == set()


def imported_by(*arguments: str) -> set[str]:
    """Names of all modules that a command imports; the command must succeed and print something."""
    program = (
        "import json, sys\nfrom bench.cli import run_command\nsys.argv[0] = 'bench'\n"
        "print(json.dumps([run_command(), sorted(sys.modules)]), file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    code, modules = json.loads(result.stderr.splitlines()[-1])
    assert (code, result.stdout.strip() != "") == (0, True)
    return set(modules)


def test_an_import_loads_nothing_that_measures_or_stores_rows() -> None:
    program = "import json, sys, bench.importing.import_session\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (HEAVY | {"psutil", "pynvml", "numpy", "bench.session.runner"}) & set(
        json.loads(result.stdout)
    ) == set()
