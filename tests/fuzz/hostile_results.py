"""A results folder with one sound session; tests add hostile ones and check the folder after each load."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from analysis.database import connections, schema
from analysis.loading.load import load
from analysis.report import write
from analysis.summary import show
from tests.factory import Case, make_session
from tests.fuzz.called import called
from tests.fuzz.limits import ends

CASES = [
    Case(name="single", step_ms={1: 4.0}, repeats=1, strategy="single", scaling="none"),
    Case(name="ddp", step_ms={1: 4.0, 2: 2.5}, repeats=2, ranks_per_node=1, device_type="cuda"),
]
SESSIONS = tuple(f"hostile{number}" for number in range(4))
RUN = "ddp.2x1.r0"
VIEWS = [*schema.derived(), *schema.views()]


class Hostile:
    """`after(change, ...)` puts a sound session there for each change, changes its folder, loads, and asks."""

    def __init__(self, folder: Path) -> None:
        self.results = folder / "results"
        self.sound = [make_session(folder / "origin", CASES, session_id=name) for name in SESSIONS]
        make_session(self.results, CASES[:1], session_id="good")
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "kept.txt").write_text("kept")
        load(self.results)

    def after(
        self, *changes: Callable[[Path], object], views: Iterable[str] = (), whole: bool = False
    ) -> None:
        """Files may be left out, but nothing may be raised. `whole` checks summary and page of each session that is in
        the database, too."""
        try:
            for sound, change in zip(self.sound, changes, strict=False):
                folder = self.results / sound.name
                shutil.copytree(sound, folder)
                change(folder)
            with ends():
                load(self.results)
                loaded = self._asked(views)
                for session in loaded if whole else []:  # seconds; a load takes a quarter of one
                    self._shown(session)
        finally:
            for path in self.results.iterdir():
                if path.is_dir() and not path.is_symlink() and path.name != "good":
                    shutil.rmtree(path)
                elif path.is_symlink():
                    path.unlink()
        assert [(path.name, path.read_text()) for path in self.outside.iterdir()] == [("kept.txt", "kept")]

    def _asked(self, views: Iterable[str]) -> list[str]:
        """Names of the loaded hostile sessions."""
        with connections.reader(self.results) as connection:
            count = "SELECT count(*) FROM steps WHERE session_id = 'good'"
            assert connection.execute(count).fetchone() == (12,), "the sound session is lost"
            for view in views:
                connection.execute(f"FROM {view}").fetchall()
            found = connection.execute("SELECT session_id FROM sessions ORDER BY ALL").fetchall()
        return [name for (name,) in found if name in SESSIONS]

    def _shown(self, session: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            show(self.results, session, tag=None, program="bench")
        write(self.results, (session,), self.results.parent / "public")
        for command in (["compare", "good", session], ["history"], ["export", session, "--format=json"]):
            called(*command, f"--results={self.results}", codes=(0, 2, 3))
