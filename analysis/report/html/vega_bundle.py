"""Vega, Vega-Lite and Vega-Embed as one script. A separate process makes it while this one imports and queries.

Making it takes longer than the rest of a report, and vl_convert holds the interpreter's lock meanwhile. The user's
cache folder keeps the script for each version of vl_convert; if that folder cannot be written, each report makes it.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from analysis.errors import AnalysisError

_PROGRAM = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"


class Bundle:
    """Starts a process at construction and waits for it in `text`; leaving the `with` ends the process."""

    def __init__(self) -> None:
        self._cached = _cache_file()
        self._text = _read(self._cached)
        self._process: subprocess.Popen[bytes] | None = None
        if self._text is None:
            command = [sys.executable, "-I", "-c", _PROGRAM]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def text(self) -> str:
        """JavaScript that defines `vegaEmbed`; about 900 kB. Raises AnalysisError if it cannot be made."""
        if self._text is None:
            assert self._process is not None
            output, errors = self._process.communicate()
            if self._process.returncode != 0:
                last_line = errors.decode(errors="replace").strip().rpartition("\n")[2]
                raise AnalysisError(
                    f"vl_convert cannot bundle Vega: {last_line}; reinstall vl-convert-python"
                )
            self._text = output.decode()
            _keep(self._cached, output)
        return self._text

    def __enter__(self) -> Bundle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


def _cache_file() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(base) / "scalebench" / f"vega-{importlib.metadata.version('vl-convert-python')}.js"


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8") or None
    except OSError:
        return None


def _keep(path: Path, content: bytes) -> None:
    """Store the script, unless the cache folder cannot be written: that costs only time."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
