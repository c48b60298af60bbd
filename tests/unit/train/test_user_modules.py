"""The user's modules among everything that may be in sys.modules."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bench
from bench.common.files import digest
from bench.train import user_modules


class Raises:
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no variables")


class ImportsWhenAsked(ModuleType):
    def __getattr__(self, name: str) -> Any:
        raise AssertionError("asked a module")


def module(file: object) -> ModuleType:
    made = ModuleType("made")
    made.__file__ = file  # type: ignore[assignment]
    return made


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return set(user_modules.digests())


def test_a_users_modules_are_known_and_pythons_installed_ones_and_scalebenchs_are_not(
    tmp_path: Path, before: set[str]
) -> None:
    (tmp_path / "mine.py").write_text("a = 1")
    installed = tmp_path / "site-packages/theirs.py"
    installed.parent.mkdir()
    installed.write_text("b = 1")
    sys.modules["mine"] = module(str(tmp_path / "mine.py"))
    sys.modules["theirs"] = module(str(installed))
    found = user_modules.digests()
    assert {path: found[path] for path in set(found) - before} == {
        str(tmp_path / "mine.py"): digest(b"a = 1")
    }
    assert not [path for path in found if path.startswith((f"{Path(bench.__file__).parent}/", os.__file__))]


def test_a_suites_own_file_is_known_wherever_it_is(tmp_path: Path, before: set[str]) -> None:
    file = tmp_path / "site-packages/my_model.py"
    file.parent.mkdir()
    file.write_text("a = 1")
    sys.modules["bench_custom_my_model"] = module(str(file))
    assert set(user_modules.digests()) - before == {str(file)}


def test_odd_entries_are_left_out(tmp_path: Path, before: set[str]) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    odd: list[Any] = [
        None, 5, Raises(), ImportsWhenAsked("lazy"), module(None), module(b"/x.py"), module(7), module("_ops.py"),
        module(str(tmp_path / "gone.py")), module(str(tmp_path)), module(str(tmp_path / "pipe.py")),
        module("/a\0b.py"), module("/dev/zero"), module(f"{tmp_path}/x.zip/in.py"),
    ]  # fmt: skip
    sys.modules.update({f"odd{place}": one for place, one in enumerate(odd)})
    assert set(user_modules.digests()) == before
