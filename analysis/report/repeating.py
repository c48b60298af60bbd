"""How the session can be had again: the command, and what it was run with."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from analysis.fetched import Row
from analysis.report.markup import text


def repeating(session: Row, facts: Mapping[str, str]) -> str:
    """HTML; `facts` are those of the first node. Nothing where no command was recorded."""
    if not session["command"]:
        return ""
    said = ", ".join(_versions(facts))
    return (
        f'<pre tabindex="0"><code id="command-line">{text(shlex.join(session["command"]))}</code></pre>'
        '<p class="tools screen-only"><button type="button" data-copy="command-line">Copy the command</button> '
        '<span role="status"></span></p>'
        + (f"<p>It was run with {said}.</p>" if said else "")
        + f"<p>Its numbers on a terminal: <code>bench summary {text(shlex.quote(session['session_id']))}</code>.</p>"
    )


def _versions(facts: Mapping[str, str]) -> Iterator[str]:
    for key, name in (
        ("scalebench", "scalebench"),
        ("commit", "commit"),
        ("torch", "PyTorch"),
        ("python", "Python"),
    ):
        if key in facts:
            yield f"{name} {text(facts[key])}"
    container = facts.get("container")
    if container == "none":
        yield "no container"
    elif container:
        yield f"the image {text(container)}"
