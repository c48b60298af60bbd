"""A person at a session's terminal presses Ctrl-C once and again, closes the terminal, or reads one line and
leaves."""

from __future__ import annotations

import fcntl
import os
import shlex
import signal
import subprocess
import termios
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from processes import BENCH, Marked

from tests.e2e.faulty_sessions import ddp, outcome, suite_file
from tests.e2e.moments import about_to_write, until

RUN = "slow.1x2.r0"


class Driver:
    """A session of two runs; the first waits at its sixth step while there is a file `hold`."""

    def __init__(self, folder: Path) -> None:
        self.results, self.hold, self.temporary = folder / "r", folder / "hold", folder / "tmp"
        self.hold.touch()
        self.temporary.mkdir()
        self.marked = Marked(self.temporary)
        suite = suite_file(folder, [ddp("slow", hold=str(self.hold)), ddp("later")], steps=8)
        self.command = [
            "suite", str(suite), "--results", str(self.results), "--session", "s", "--order", "fixed",
            "--ranks-per-node", "2",
        ]  # fmt: skip

    @property
    def reached(self) -> bool:
        return self.hold.with_name("hold.reached").exists()

    def nothing_is_left(self) -> bool:
        folders = [path for path in self.temporary.iterdir() if "torchinductor" not in path.name]
        return self.marked.left() == [] and folders == []

    def statuses(self) -> list[tuple[str, int]]:
        query = (
            "SELECT any_value(status), count(rank) FROM runs LEFT JOIN steps USING (run_id, attempt)"
            " GROUP BY run_id, attempt"
        )
        with duckdb.connect(str(self.results / "results.duckdb"), read_only=True) as connection:
            return connection.sql(query).fetchall()


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def test_ctrl_c_keeps_what_was_measured_and_pressed_again_while_it_closes_changes_nothing(
    driver: Driver,
) -> None:
    process = driver.marked.start(*driver.command)
    until(lambda: driver.reached, lambda: None if process.poll() is None else process.communicate())
    with about_to_write(driver.results / "s" / RUN / "run.json.tmp") as closing:
        os.killpg(process.pid, signal.SIGINT)
        until(closing)
        os.killpg(process.pid, signal.SIGINT)
    stderr = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert stderr.splitlines()[-1].startswith(
        "stopped by SIGINT after 0 of 2 runs; everything measured is kept. Run `"
    )
    assert "suite --resume s" in stderr
    assert "Traceback" not in stderr
    said = outcome(driver.results, "s", RUN)
    assert (said["status"], said["error"], said["steps_completed"]) == ("interrupted", "stopped by SIGINT", 5)
    assert not (driver.results / "s/later.1x2.r0").exists()
    assert driver.nothing_is_left()


class Terminal:
    """A real terminal with the session; the session's process is in its foreground."""

    def __init__(self, driver: Driver, *, ignored: bool) -> None:
        self._master, slave = os.openpty()
        os.set_blocking(self._master, False)

        def sit_down() -> None:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)

        self.shown = b""
        self.process = subprocess.Popen(
            [*BENCH, *driver.command], env=driver.marked.environment, start_new_session=True,
            stdin=slave, stdout=slave, stderr=slave, preexec_fn=sit_down,  # noqa: PLW1509 - no threads
        )  # fmt: skip
        os.close(slave)

    def ended(self) -> str | None:
        """Read on, as a terminal does; return the whole output once the process has ended."""
        with suppress(BlockingIOError, OSError):
            self.shown += os.read(self._master, 1 << 16)
        return None if self.process.poll() is None else self.shown.decode()

    def close(self) -> None:
        os.close(self._master)


def test_a_terminal_that_is_closed_interrupts_the_session_and_what_was_measured_is_kept(
    driver: Driver,
) -> None:
    terminal = Terminal(driver, ignored=False)
    until(lambda: driver.reached, terminal.ended)
    terminal.close()
    assert terminal.process.wait(120) == 129
    said = outcome(driver.results, "s", RUN)
    assert (said["status"], said["error"]) == ("interrupted", "stopped by SIGHUP")
    assert driver.nothing_is_left()
    assert driver.marked.run("load", str(driver.results)).returncode == 0
    assert driver.statuses() == [("interrupted", 10)]


def test_a_session_that_is_to_outlive_its_terminal_does(driver: Driver) -> None:
    """`nohup` and `disown` set this; the streams then belong to a terminal that is gone."""
    terminal = Terminal(driver, ignored=True)
    until(lambda: driver.reached, terminal.ended)
    terminal.close()
    driver.hold.unlink()
    assert terminal.process.wait(120) == 0
    assert driver.statuses() == [("ok", 18), ("ok", 18)]
    assert driver.nothing_is_left()


def test_whoever_reads_its_first_line_and_leaves_ends_no_session(driver: Driver) -> None:
    driver.hold.unlink()
    line = f"{shlex.join([*BENCH, *driver.command])} 2>&1 | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], env=driver.marked.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert done.stderr == ""
    assert driver.statuses() == [("ok", 18), ("ok", 18)]
    assert driver.nothing_is_left()
