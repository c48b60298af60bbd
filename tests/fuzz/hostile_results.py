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
SESSION = "hostile"
RUN = "ddp.2x1.r0"
VIEWS = [*schema.derived(), *schema.views()]


class Hostile:
    """`after(change)` puts a sound session there, changes its folder, loads, and asks."""

    def __init__(self, folder: Path) -> None:
        self.results = folder / "results"
        self.sound = make_session(folder / "origin", CASES, session_id=SESSION)
        make_session(self.results, CASES[:1], session_id="good")
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "kept.txt").write_text("kept")
        load(self.results)

    def after(
        self, change: Callable[[Path], object], views: Iterable[str] = (), *, whole: bool = False
    ) -> bool:
        """Whether the changed session is in the database. Files may be left out, but nothing may be raised. `whole`
        checks its summary and its page, too."""
        folder = self.results / SESSION
        shutil.copytree(self.sound, folder)
        try:
            change(folder)
            with ends():
                load(self.results)
                is_loaded = self._asked(views)
                if whole and is_loaded:  # seconds; a load takes a quarter of one
                    self._shown()
        finally:
            for path in self.results.iterdir():
                if path.is_dir() and not path.is_symlink() and path.name != "good":
                    shutil.rmtree(path)
                elif path.is_symlink():
                    path.unlink()
        assert [(path.name, path.read_text()) for path in self.outside.iterdir()] == [("kept.txt", "kept")]
        return is_loaded

    def _asked(self, views: Iterable[str]) -> bool:
        with connections.reader(self.results) as connection:
            count = "SELECT count(*) FROM steps WHERE session_id = 'good'"
            assert connection.execute(count).fetchone() == (12,), "the sound session is lost"
            for view in views:
                connection.execute(f"FROM {view}").fetchall()
            found = connection.execute("SELECT 1 FROM sessions WHERE session_id = $1", [SESSION]).fetchone()
        return found is not None

    def _shown(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            show(self.results, SESSION, tag=None, program="bench")
        write(self.results, (SESSION,), self.results.parent / "public")
        for command in (["compare", "good", SESSION], ["history"], ["export", SESSION, "--format=json"]):
            called(*command, f"--results={self.results}", codes=(0, 2, 3))
