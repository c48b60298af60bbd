"""How to run the session again: the command, and the versions that it ran with."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html.markup import text
from analysis.report.html.render import render


def repeating(session: Row, facts: Mapping[str, str]) -> Markup:
    """The section; empty if no command was recorded. `facts` are those of the first node."""
    if not session["command"]:
        return Markup()
    return render(
        "sections/rerun",
        line=shlex.join(session["command"]),
        environment=list(_environment(facts)),
        session_id=shlex.quote(session["session_id"]),
    )


def _environment(facts: Mapping[str, str]) -> Iterator[Markup | str]:
    names = {"scalebench": "scalebench", "commit": "commit", "torch": "PyTorch", "python": "Python"}
    yield from (f"{name} " + text(facts[key]) for key, name in names.items() if key in facts)
    container = facts.get("container")
    if container == "none":
        yield "no container"
    elif container:
        yield "the image " + text(container)
