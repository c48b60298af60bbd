"""The secret that the tasks of a step come to share."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bench.cluster import secret
from bench.cluster.secret import secret_file, shared_secret
from bench.common.errors import InputError

KEY = "7.0.0"
# announces itself, waits for the word, says what it got, and stays until its input ends
TASK = f"""
import sys
from pathlib import Path
from bench.cluster.secret import shared_secret
print("here", flush=True)
sys.stdin.readline()
print(shared_secret(Path(sys.argv[1]), {KEY!r}).hex(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Many processes that will ask for the secret of one step."""
    command = [sys.executable, "-c", TASK, str(tmp_path / "r")]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(12)]
    yield started
    for process in started:
        process.communicate(timeout=20)


def say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_many_processes_one_makes_the_secret_and_all_have_it(
    tmp_path: Path, tasks: list[subprocess.Popen[str]]
) -> None:
    assert [heard(process) for process in tasks] == ["here"] * len(tasks)
    for process in tasks:
        say(process, "go\n")
    got = {bytes.fromhex(heard(process)) for process in tasks}
    assert got == {secret_file(tmp_path / "r", KEY).read_bytes()}
    (shared,) = got
    assert len(shared) == 32
    for process in tasks:
        seen = " ".join(
            [*psutil.Process(process.pid).cmdline(), *psutil.Process(process.pid).environ().values()]
        )
        assert shared.hex() not in seen


def test_nobody_else_may_read_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        shared_secret(tmp_path, KEY)
    finally:
        os.umask(before)
    assert secret_file(tmp_path, KEY).stat().st_mode & 0o777 == 0o600


def test_every_step_has_its_own(tmp_path: Path) -> None:
    assert shared_secret(tmp_path, "7.0.0") == shared_secret(tmp_path, "7.0.0")
    assert len({shared_secret(tmp_path, key) for key in ("7.0.0", "7.1.0", "7.0.1", "8.0.0")}) == 4


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_file_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    shared_secret(tmp_path, KEY)
    secret_file(tmp_path, KEY).chmod(mode)
    with pytest.raises(InputError, match=r"\.step-7\.0\.0 is not this user's alone: remove it"):
        shared_secret(tmp_path, KEY)


def test_a_link_to_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(bytes(32))
    (tmp_path / "other").chmod(0o600)
    secret_file(tmp_path, KEY).symlink_to(tmp_path / "other")
    with pytest.raises(InputError, match="is not this user's alone"):
        shared_secret(tmp_path, KEY)


def test_another_users_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared_secret(tmp_path, KEY)
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    with pytest.raises(InputError, match="is not this user's alone"):
        shared_secret(tmp_path, KEY)


def test_a_task_waits_for_the_bytes_of_another_that_was_first(tmp_path: Path) -> None:
    path = secret_file(tmp_path, KEY)
    path.touch(0o600)
    later = threading.Timer(0.1, path.write_bytes, [b"s" * 32])
    later.start()
    assert shared_secret(tmp_path, KEY) == b"s" * 32
    later.join()


def test_a_file_that_never_holds_a_secret_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret, "_SETTLES_S", 0.1)
    secret_file(tmp_path, KEY).touch(0o600)
    with pytest.raises(
        InputError, match="should hold a secret and does not: remove it and start the step again"
    ):
        shared_secret(tmp_path, KEY)


def test_results_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a file, not a folder")
    with pytest.raises(InputError, match=r"results cannot be written: .*--results names another folder"):
        shared_secret(tmp_path / "r", KEY)
