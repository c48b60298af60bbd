"""Other packages add workloads by entry points: real distributions, as an installer leaves them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import workloads
from bench.cli import group
from bench.common.errors import InputError
from bench.suite.resolve import load_suite

CLASS = """
class Net:
    def model(self): ...
    def batch(self, places, keys): ...
    def loss(self, model, batch): ...
"""


def install(
    folder: Path, package: str, entries: str, module: str = CLASS, group: str = "bench.workloads"
) -> None:
    """Install a package with one module of the package's name, as an installer does."""
    (folder / f"{package}.py").write_text(module)
    information = folder / f"{package}-1.5.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
    (information / "entry_points.txt").write_text(f"[{group}]\n{entries}\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def listed() -> str:
    done = CliRunner().invoke(group, ["list"])
    assert done.exit_code == 0
    return done.output


def test_a_packages_workload_is_chosen_by_its_name_like_one_that_ships(folder: Path) -> None:
    install(folder, "fine_nets", "fine_net = fine_nets:Net")
    assert workloads.load("fine_net").__bases__[0].__module__ == "fine_nets"
    assert workloads.known() == [*workloads.names(), "fine_net"]
    assert "\nfine_net  fine_nets 1.5 (fine_nets:Net)\n" in listed()
    (folder / "s.yaml").write_text(
        "title: x\nworkload: {name: fine_nett}\nmeasure: {steps: 1}\n"
        "cases: [{name: a, strategy: ddp, scaling: weak, batch_per_rank: 4, world: [1]}]\n"
    )
    with pytest.raises(InputError, match=r"spiral_mlp, .*fine_net; did you mean fine_net\?"):
        load_suite(str(folder / "s.yaml"))
    (folder / "s.yaml").write_text((folder / "s.yaml").read_text().replace("fine_nett", "fine_net"))
    assert load_suite(str(folder / "s.yaml")).cases[0].workload.name == "fine_net"


def test_one_name_of_two_packages_is_refused_and_names_both(folder: Path) -> None:
    install(folder, "twin_one", "twin = twin_one:Net")
    install(folder, "twin_two", "twin = twin_two:Net")
    with pytest.raises(InputError) as refused:
        workloads.load("twin")
    for package in ("twin_one 1.5 (twin_one:Net)", "twin_two 1.5 (twin_two:Net)"):
        assert package in str(refused.value)
        assert f"{package}: several workloads have this name, so none can be chosen" in listed()


def test_a_package_cannot_replace_what_ships(folder: Path) -> None:
    install(folder, "usurper", "spiral_mlp = usurper:Net")
    assert workloads.load("spiral_mlp").__module__ == "bench.workloads.spiral_mlp"
    assert "spiral_mlp  usurper 1.5 (usurper:Net): hidden by the shipped workload of this name" in listed()


@pytest.mark.parametrize(
    ("package", "module", "reason"),
    [
        ("raises_it", "1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("leaves_it", "raise SystemExit(0)", "cannot be imported: SystemExit: 0"),
        ("lacks_it", "", "cannot be imported: AttributeError"),
        ("half_of_it", CLASS.replace("loss", "los"), "class half_of_it:Net lacks loss(model, batch)"),
    ],
)
def test_a_broken_entry_point_is_refused_with_its_package(
    folder: Path, package: str, module: str, reason: str
) -> None:
    install(folder, package, f"broken = {package}:Net", module)
    with pytest.raises(InputError) as refused:
        workloads.load("broken")
    assert str(refused.value).startswith(f"workload 'broken' of {package} 1.5 ({package}:Net)")
    assert reason in str(refused.value)


def test_workloads_that_ship_are_found_without_a_look_at_packages() -> None:
    program = (
        "import sys\n"
        "from bench import workloads\n"
        "workloads.load('spiral_mlp')\n"
        "print('importlib.metadata' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
