"""A session's agent is told to stop, or killed, at every kind of moment; each time the session is resumed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from processes import Marked, OneProcess

from bench.common.files import digest, read_json
from bench.measure import recorder
from tests.e2e.faulty_sessions import ddp, suite_file
from tests.e2e.moments import PATIENCE_S, about_to_write, until

RUNS = FIRST, SLOW, LATER = "first.1x2.r0", "slow.1x2.r0", "later.1x2.r0"
WARMUP, STEPS = 3, 5
ROWS = 2 * (WARMUP + STEPS)
"""Step rows of a complete run."""
HELD = ("before the first run", "in warm-up", "in a measured step")
"""Moments when the workload keeps waiting: the agent must end anyway."""
WRITING = ("while writing Parquet", "between runs")
"""Moments when the agent itself waits until it is told to stop; then it continues."""
MOMENTS = HELD + WRITING


Ended = Callable[[], object]
"""Output of a process that has ended; null if it still runs."""
Reach = Callable[[Ended], AbstractContextManager[None]]


@dataclass(kw_only=True)
class Stage:
    """State after the session was ended at one moment."""

    exit_code: int
    said: str
    processes: list[str]
    folders: list[str]
    """Scratch folders that are left in the temporary folder and in shared memory."""
    loaded: tuple[int, str]
    """Exit code and output of `bench load`."""
    rows: list[tuple[Any, ...]]
    """Run, attempt, status, error, rows and different rows in the database."""
    stored: dict[str, str]
    """Digests of the step rows of runs that are ok."""


class Story:
    """A session of three runs, which a signal ends five times."""

    def __init__(self, folder: Path, number: signal.Signals, one_process: OneProcess) -> None:
        self._one_process = one_process
        self.folder, self.results, self.number = folder, folder / "r", number
        temporary = folder / "tmp"
        temporary.mkdir()
        self.marked = Marked(temporary)
        held = ddp("slow", hold=str(folder / "hold"))
        self.suite = suite_file(folder, [ddp("first"), held, ddp("later")], warmup=WARMUP, steps=STEPS)
        for name in (".prepare", ".step1", ".step5", ".step6"):
            (folder / f"hold{name}").touch()
        self.stages: dict[str, Stage] = {}
        for moment, reach in zip(MOMENTS, self._moments(), strict=True):
            self._stage(moment, reach)
        self.completed = self._completed()

    def _moments(self) -> list[Reach]:
        return [
            partial(self._held, ".prepare", 0),
            partial(self._held, ".step1", 1),
            partial(self._held, ".step5", 5),
            self._writing,
            self._between,
        ]

    @contextmanager
    def _held(self, name: str, rows: int, ended: Ended) -> Iterator[None]:
        """Within `with`, the workload waits at that moment; each rank has that many rows by then."""
        held, reached = self.folder / f"hold{name}", self.folder / f"hold{name}.reached"
        until(lambda: reached.exists() and (rows == 0 or self._have(rows)), ended)
        yield
        held.unlink()

    @contextmanager
    def _writing(self, ended: Ended) -> Iterator[None]:
        """Within `with`, the agent waits to open the file for the rows of all steps."""
        with ExitStack() as stack:
            with self._held(".step6", 6, ended):
                folder = self.results / "s" / SLOW  # its earlier files are set aside by now
                wanted = stack.enter_context(about_to_write(folder / "steps.node0.parquet.tmp"))
            until(wanted, ended)
            yield

    @contextmanager
    def _between(self, ended: Ended) -> Iterator[None]:
        """Within `with`, the agent waits for the file that announces the last run."""
        with about_to_write(self.results / "s" / LATER / "begun.json.tmp") as wanted:
            until(wanted, ended)
            yield

    def _have(self, rows: int) -> bool:
        raws = list((self.folder / "tmp").glob(f"bench-*/{SLOW}.*/steps.rank?.raw"))
        return len(raws) == 2 and all((last := recorder.peek(raw)) and last.rows == rows for raw in raws)

    def _begin_or_resume(self) -> tuple[str, ...]:
        begun = (self.results / "s" / "session.json").exists()
        what = ("--resume", "s") if begun else (str(self.suite), "--session", "s", "--order", "fixed")
        return ("suite", *what, "--results", str(self.results), "--ranks-per-node", "2", "--no-load")

    def _stage(self, moment: str, reach: Reach) -> None:
        process = self.marked.start(*self._begin_or_resume())
        with reach(lambda: None if process.poll() is None else process.communicate()):
            process.send_signal(self.number)
            if moment in HELD:
                process.wait(PATIENCE_S)
                self.marked.left()  # ranks outlive a killed agent briefly, and must not go on in the meantime
            else:
                until(lambda: process.poll() is not None or not _pending(process.pid, self.number))
        said = process.communicate(timeout=120)[1]
        self.stages[moment] = Stage(
            exit_code=process.returncode, said=said, processes=self.marked.left(), folders=self._scratch(),
            loaded=self._load(), rows=self._rows(), stored=self._stored(),
        )  # fmt: skip

    def _completed(self) -> Stage:
        done = self.marked.run(*self._begin_or_resume())
        return Stage(
            exit_code=done.returncode, said=done.stderr, processes=self.marked.left(), folders=self._scratch(),
            loaded=self._load(), rows=self._rows(), stored=self._stored(),
        )  # fmt: skip

    def _scratch(self) -> list[str]:
        # torch's own cache of compiled code belongs to the user and stays
        return sorted(
            path.name for path in (self.folder / "tmp").iterdir() if "torchinductor" not in path.name
        )

    def _load(self) -> tuple[int, str]:
        done = self._one_process.run("load", str(self.results))
        return done.returncode, done.stdout + done.stderr

    def _rows(self) -> list[tuple[Any, ...]]:
        if not (self.results / "results.duckdb").exists():
            return []
        query = (
            "SELECT run_id, attempt, any_value(status), any_value(r.error), count(rank),"
            " count(DISTINCT (rank, step)) FILTER (rank IS NOT NULL)"
            " FROM runs r LEFT JOIN steps USING (session_id, run_id, attempt) GROUP BY ALL ORDER BY ALL"
        )
        with duckdb.connect(str(self.results / "results.duckdb"), read_only=True) as connection:
            return connection.sql(query).fetchall()

    def _stored(self) -> dict[str, str]:
        files = {run: self.results / "s" / run for run in RUNS}
        return {
            run: digest((folder / "steps.node0.parquet").read_bytes())
            for run, folder in files.items()
            if (folder / "run.json").exists() and read_json(folder / "run.json")["outcome"]["status"] == "ok"
        }


def _pending(pid: int, number: int) -> bool:
    """Whether a process has not yet taken a signal that was sent to it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Story:
    return Story(tmp_path_factory.mktemp("told"), signal.SIGTERM, one_process)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Story:
    return Story(tmp_path_factory.mktemp("killed"), signal.SIGKILL, one_process)


@pytest.fixture(params=["told", "killed"])
def story(request: pytest.FixtureRequest) -> Story:
    found: Story = request.getfixturevalue(request.param)
    return found


def test_no_process_and_no_folder_is_left(story: Story) -> None:
    left = {moment: (stage.processes, stage.folders) for moment, stage in story.stages.items()}
    assert left == dict.fromkeys(MOMENTS, ([], []))


def test_a_resume_completes_the_session_and_no_row_of_an_ok_run_is_lost_twice_or_other(story: Story) -> None:
    assert story.completed.exit_code == 0, story.completed.said
    assert set(story.completed.stored) == set(RUNS)
    for stage in story.stages.values():
        assert stage.stored.items() <= story.completed.stored.items()
        assert all(row[4] == row[5] for row in stage.rows)
        assert {row[0] for row in stage.rows if row[2] == "ok"} == set(stage.stored)
    of_ok = [row for row in story.completed.rows if row[2] == "ok"]
    assert [(row[0], row[4], row[5]) for row in of_ok] == [(run, ROWS, ROWS) for run in sorted(RUNS)]
    assert list((story.results / "s").rglob("*.raw")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_while_the_database_is_written_it_says_how_to_load(
    tmp_path: Path, number: signal.Signals
) -> None:
    results = tmp_path / "r"
    results.mkdir()
    marked = Marked(tmp_path)
    assert marked.run("load", str(results)).returncode == 0  # an empty database
    call = (
        "run",
        "--world",
        "1",
        "--repeats",
        "1",
        "--session",
        "s",
        "--results",
        str(results),
        "--",
        "true",
    )
    with about_to_write(results / "results.duckdb") as wanted:
        process = marked.start(*call)
        until(wanted, lambda: None if process.poll() is None else process.communicate())
        process.send_signal(number)
        until(lambda: process.poll() is not None or not _pending(process.pid, number))
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number
    last = said.splitlines()[-1]
    assert last.startswith(f"stopped by {number.name} after 1 of 1 run; everything measured is kept. Run `")
    assert last.endswith(
        f"load {results}` first: until then `bench summary` and `bench sql` answer without it."
    )
    assert marked.run("load", str(results)).stdout.startswith("1 session, 1 run, ")


def test_told_to_stop_while_python_still_begins_it_says_and_writes_nothing(tmp_path: Path) -> None:
    process = Marked(tmp_path).start("suite", "smoke", "--results", str(tmp_path / "r"))
    process.terminate()
    assert process.communicate(timeout=60) == ("", "")
    assert (process.returncode, list(tmp_path.iterdir())) == (-signal.SIGTERM, [])


def test_told_to_stop_it_says_what_is_done_and_how_to_go_on(told: Story) -> None:
    assert {moment: stage.exit_code for moment, stage in told.stages.items()} == dict.fromkeys(MOMENTS, 143)
    said = {moment: stage.said.splitlines()[-1].partition(";")[0] for moment, stage in told.stages.items()}
    assert said == dict(
        zip(
            MOMENTS,
            [
                "bench: stopped by SIGTERM",
                "stopped by SIGTERM after 1 of 3 runs",
                "stopped by SIGTERM after 1 of 3 runs",
                "stopped by SIGTERM after 2 of 3 runs",
                "stopped by SIGTERM after 2 of 3 runs",
            ],
            strict=True,
        )
    )
    assert "suite --resume s" in told.stages["in warm-up"].said
    assert not any("Traceback" in stage.said for stage in told.stages.values())


def test_a_session_that_was_told_to_stop_is_in_the_database_as_far_as_it_came(told: Story) -> None:
    assert told.stages["before the first run"].rows == []
    assert [stage.loaded[0] for stage in list(told.stages.values())[1:]] == [0] * 4
    why = "stopped by SIGTERM"
    assert told.completed.rows == [
        (FIRST, 0, "ok", None, ROWS, ROWS),
        (LATER, 0, "interrupted", why, 0, 0),
        (LATER, 1, "ok", None, ROWS, ROWS),
        (SLOW, 0, "interrupted", why, 2, 2),
        (SLOW, 1, "interrupted", why, 10, 10),
        (SLOW, 2, "ok", None, ROWS, ROWS),
    ]
    assert told.stages["between runs"].rows == [row for row in told.completed.rows if row[:2] != (LATER, 1)]


def test_a_killed_agent_says_nothing_and_load_says_what_it_left(killed: Story) -> None:
    assert {stage.exit_code for stage in killed.stages.values()} == {-signal.SIGKILL}
    loaded = {moment: stage.loaded for moment, stage in killed.stages.items()}
    assert killed.stages["before the first run"].rows == []
    for moment in MOMENTS[1:4]:
        assert loaded[moment][0] == 1
        assert f"{SLOW}: begun and never ended: `bench suite --resume s` keeps its rows" in loaded[moment][1]
    assert loaded["between runs"][0] == 0


def test_a_killed_agents_rows_are_there_once_the_session_is_resumed(killed: Story) -> None:
    why = "the agent ended before the run did"
    assert killed.completed.rows == [
        (FIRST, 0, "ok", None, ROWS, ROWS),
        (LATER, 0, "ok", None, ROWS, ROWS),
        (SLOW, 0, "interrupted", why, 2, 2),
        (SLOW, 1, "interrupted", why, 10, 10),
        (SLOW, 2, "interrupted", why, ROWS, ROWS),
        (SLOW, 3, "ok", None, ROWS, ROWS),
    ]
    assert list(killed.results.rglob("*.tmp")) == []
