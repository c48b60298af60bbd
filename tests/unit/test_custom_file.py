"""A Python file that a suite names imports the modules next to it, and none that Python would find elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.common import custom_file
from bench.common.errors import InputError


@pytest.fixture(autouse=True)
def _imports_are_undone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def written(folder: Path, **files: str) -> Path:
    """Write `name=text` as folder/name.py, with `__` for a slash; return custom.py."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "custom.py"


def test_modules_and_packages_next_to_it_are_imported_also_by_each_other(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        custom="from custom_parts import PARTS\ndef later():\n    import custom_late\n    return custom_late.LATE",
        custom_late="from custom_parts.more import MORE\nLATE = MORE + 1",
    )
    (tmp_path / "custom_parts").mkdir()
    (tmp_path / "custom_parts/__init__.py").write_text("from .more import MORE\nPARTS = [MORE]")
    (tmp_path / "custom_parts/more.py").write_text("MORE = 1")
    module = custom_file.execute(path)
    assert (module.PARTS, module.later()) == ([1], 2)


def test_its_folder_is_searched_last(tmp_path: Path) -> None:
    custom_file.execute(written(tmp_path, custom=""))
    assert sys.path[-1] == str(tmp_path)
    custom_file.execute(written(tmp_path, custom="again = 1"))
    assert sys.path.count(str(tmp_path)) == 1


@pytest.mark.parametrize(
    "imports",
    ["import click", "from click import echo", "import click.testing", "def later():\n    import click"],
)
def test_a_module_that_an_installed_one_hides_is_refused_with_both_files(
    tmp_path: Path, imports: str
) -> None:
    import click

    path = written(tmp_path, custom=imports, click="raise SystemExit")
    with pytest.raises(InputError) as refused:
        custom_file.execute(path)
    assert str(refused.value) == (
        f"{path} imports click, but Python finds {click.__file__} before {tmp_path / 'click.py'}: rename the latter"
    )


def test_so_is_one_that_is_imported_by_a_module_next_to_it(tmp_path: Path) -> None:
    path = written(tmp_path, custom="import custom_part", custom_part="import json", json="")
    with pytest.raises(
        InputError, match=r"custom_part\.py imports json, but Python finds .*json/__init__\.py"
    ):
        custom_file.execute(path)


def test_so_is_one_of_the_name_of_a_built_in_module(tmp_path: Path) -> None:
    path = written(tmp_path, custom="import time", time="")
    with pytest.raises(InputError, match="imports time, but Python finds a built-in module before"):
        custom_file.execute(path)


def test_so_is_one_that_another_custom_file_has_imported_from_its_folder(tmp_path: Path) -> None:
    first = written(tmp_path / "first", custom="import custom_model", custom_model="")
    second = written(tmp_path / "second", custom="import custom_model", custom_model="")
    custom_file.execute(first)
    with pytest.raises(InputError, match=r"first/custom_model\.py before .*second/custom_model\.py"):
        custom_file.execute(second)


def test_a_module_of_a_known_name_that_nothing_imports_does_no_harm(tmp_path: Path) -> None:
    custom_file.execute(
        written(tmp_path, custom="import math", json="raise SystemExit", bench="raise SystemExit")
    )


def test_a_file_that_is_no_python_says_where(tmp_path: Path) -> None:
    path = written(tmp_path, custom="def (:")
    with pytest.raises(InputError, match=rf"{path} cannot be imported: SyntaxError"):
        custom_file.execute(path)


@pytest.mark.parametrize(
    "imports", ["from .deep import DEEP", "from custom_package.deep import DEEP", "from . import deep"]
)
def test_so_is_one_that_a_submodule_of_a_package_imports(tmp_path: Path, imports: str) -> None:
    path = written(
        tmp_path, custom="import custom_package", custom_package__deep="import click\nDEEP = 1", click=""
    )
    (tmp_path / "custom_package/__init__.py").write_text(imports)
    with pytest.raises(
        InputError, match=r"custom_package/deep\.py imports click, but Python finds .*click/__init__\.py"
    ):
        custom_file.execute(path)


def test_a_folder_without_init_is_a_package_too_and_may_be_hidden(tmp_path: Path) -> None:
    custom_file.execute(
        written(tmp_path, custom="from custom_folder.part import PART", custom_folder__part="PART = 1")
    )
    hidden = written(tmp_path, custom="import click.part", click__part="")
    with pytest.raises(
        InputError, match=rf"imports click, but Python finds .* before {tmp_path}/click: rename"
    ):
        custom_file.execute(hidden)


def test_a_folder_of_data_with_the_name_of_an_installed_package_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "click").mkdir()
    (tmp_path / "click/data.bin").write_bytes(b"")
    custom_file.execute(written(tmp_path, custom="import click"))
