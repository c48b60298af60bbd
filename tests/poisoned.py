"""Session folders in which an attacker chose every text to do harm in a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.factory import write_json

PAYLOADS = (
    "</script><script>window.pwned=1;document.title='pwned'</script>",
    '"><img src=x onerror="window.pwned=1"><svg onload=\'window.pwned=1\'>',
    "' onmouseover='window.pwned=1' autofocus onfocus='window.pwned=1' x='",
    "javascript:window.pwned=1",
    "]]><!--<script>window.pwned=1</script>--!><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "\u2028window.pwned=1\u2029//`${window.pwned=1}`{{constructor.constructor('window.pwned=1')()}}",
    "datum.constructor.constructor('window.pwned=1')()",
    '=HYPERLINK("javascript:window.pwned=1")[x](javascript:window.pwned=1)<style>*{display:none}</style>',
)
KEPT = {
    "schema_version",
    "session_id",
    "run_id",
    "status",
    "scaling",
    "axis",
    "strategy",
}
"""Columns with a fixed set of values, or with a value that several files must share."""


def poison(folder: Path, text: Callable[[int], str]) -> None:
    """Every text of the session's JSON becomes `text(number)`; cases keep their names, and the suite's is `text(0)`."""
    for path in (folder / "session.json", *folder.glob("*/run.json")):
        found = json.loads(path.read_text())
        changed = _poisoned(found, text)
        if "spec" in found:
            changed["spec"] |= {"case_name": found["spec"]["case_name"], "suite": text(0)}
        else:
            for run, was in zip(changed["plan"], found["plan"], strict=True):
                run["case_name"] = was["case_name"]
            changed["suite"] = text(0)
        write_json(path, changed)


def _poisoned(value: Any, text: Callable[[int], str], number: int = 0, key: str = "") -> Any:
    """Replace every text except kept ones and times."""
    if isinstance(value, dict):
        return {
            name: _poisoned(item, text, number + place, name)
            for place, (name, item) in enumerate(value.items())
        }
    if isinstance(value, list):
        return [_poisoned(item, text, number + place, key) for place, item in enumerate(value)]
    is_text = isinstance(value, str) and key not in KEPT and not key.endswith("_at")
    return text(number) if is_text else value
