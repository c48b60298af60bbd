from __future__ import annotations

import json
from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """After a resume the last repeat ran with another torch. Elsewhere the code changed, or the data set grew, between
    one rank and two."""
    folder = _session(results, "torch")
    for ranks in (1, 2):
        _change(folder, f"ddp.1x{ranks}.r2", "fingerprint", torch="2.16.0")
    for session, part, fact in (
        ("code", "fingerprint", {"content of model.py": "b"}),
        ("data", "outcome", {"dataset_size": 20_000}),
    ):
        folder = _session(results, session)
        for repeat in range(3):
            _change(folder, f"ddp.1x1.r{repeat}", "fingerprint", **{"content of model.py": "a"})
            _change(folder, f"ddp.1x2.r{repeat}", "fingerprint", **{"content of model.py": "a"})
            _change(folder, f"ddp.1x2.r{repeat}", part, **fact)


def quiet(results: Path) -> None:
    """The last repeat ran on another node of the same kind, and another case trains on another data set."""
    cases = [Case(name="ddp", step_ms={1: 20.0, 2: 10.0}), Case(name="other", step_ms={1: 20.0, 2: 10.0})]
    folder = make_session(results, cases)
    for ranks in (1, 2):
        _change(folder, f"ddp.1x{ranks}.r2", "fingerprint", nodes="node-b")
        for repeat in range(3):
            _change(folder, f"other.1x{ranks}.r{repeat}", "outcome", dataset_size=20_000)


def _session(results: Path, session_id: str) -> Path:
    return make_session(results, [Case(name="ddp", step_ms={1: 20.0, 2: 10.0})], session_id=session_id)


def _change(folder: Path, run_id: str, part: str, **facts: object) -> None:
    path = folder / run_id / "run.json"
    run = json.loads(path.read_text("utf-8"))
    run[part] |= facts
    path.write_text(json.dumps(run), "utf-8")
