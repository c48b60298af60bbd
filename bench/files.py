"""JSON files: written to a temporary name and renamed; NaN and infinities become null."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    """Write atomically: a reader sees the old file or the new one."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8") as out:
        json.dump(finite(value), out, indent=1, ensure_ascii=False, allow_nan=False)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())
    temporary.rename(path)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def finite(value: Any) -> Any:
    """The value with every NaN and infinity replaced by null, which is what JSON has."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
