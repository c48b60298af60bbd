"""The folders from which Python imports: in this process, and in those that we start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.common import safe_path

ROOT = str(Path(__file__).parents[2])
SAYS_ITS_PATH = """
import json, os, sys
from bench.common import safe_path
safe_path.protect_imports()
print(json.dumps([sys.path, os.environ.get("PYTHONPATH"), safe_path.environment()["PYTHONPATH"]]))
"""


def asked(folder: Path, pythonpath: str | None) -> tuple[list[str], str | None, list[str]]:
    """`sys.path` and PYTHONPATH of a `python -c` in the folder, and the entries of PYTHONPATH for its own Pythons."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {} if pythonpath is None else {"PYTHONPATH": pythonpath}
    command = [sys.executable, "-c", SAYS_ITS_PATH]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    path, own, handed = json.loads(done.stdout)
    return path, own, handed.split(os.pathsep)


@pytest.mark.parametrize("pythonpath", [None, "", "/x", "/x:", ":/x", "/x::/y", ":"])
def test_the_current_folder_is_left_out_where_nobody_named_it(tmp_path: Path, pythonpath: str | None) -> None:
    path, own, handed = asked(tmp_path, pythonpath)
    assert not {"", str(tmp_path)}.intersection(path)
    assert own == pythonpath
    assert "" not in handed or handed == [""]
    assert [entry for entry in handed if entry in ("/x", "/y")] == [
        entry for entry in (pythonpath or "").split(":") if entry
    ]


@pytest.mark.parametrize("pythonpath", [".", "{folder}", "{folder}:", ":."])
def test_the_current_folder_stays_where_pythonpath_names_it(tmp_path: Path, pythonpath: str) -> None:
    path, own, handed = asked(tmp_path, named := pythonpath.format(folder=tmp_path))
    assert str(tmp_path) in path
    assert own == named
    assert handed[0] in (".", str(tmp_path))


def test_a_python_that_we_start_finds_us_and_so_does_one_that_it_starts(tmp_path: Path) -> None:
    for name in ("bench", "analysis"):
        (tmp_path / name).symlink_to(Path(ROOT, name))
    first = dict(os.environ, PYTHONPATH="/x")
    program = "from bench.common import safe_path; import json; print(json.dumps(safe_path.environment()))"
    for _ in range(2):
        command = [
            sys.executable,
            "-c",
            "from bench.common.safe_path import *; protect_imports()\n" + program,
        ]
        done = subprocess.run(command, cwd=tmp_path, env=first, capture_output=True, text=True, check=True)
        first = json.loads(done.stdout)
        assert first["PYTHONPATH"].split(":") == ["/x", ROOT]


def test_a_folder_that_is_gone_stops_no_command(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = Path(sys.executable).with_name("bench")
    line = f"cd {gone} && rmdir {gone} && {sys.executable} -m bench --version && {script} --version"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("version")) == (0, 2), done.stderr


def test_the_callers_variables_come_back_after_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":/x")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    before = dict(os.environ)
    with safe_path.safe_environment():
        assert os.environ["PYTHONPATH"] == f"/x:{ROOT}"
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert dict(os.environ) == before


def test_an_image_brings_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":/x:")
    assert safe_path.environment_of_an_image()["PYTHONPATH"] == "/x"
