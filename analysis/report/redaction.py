"""Removal of host names, paths and command lines from pages for other readers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import duckdb
import polars as pl

_PART = r"/[\w.@+~%=,:-]+"
_PATH = re.compile(rf"(?<![\w./~$])(?:(?:file://)?(?:{_PART}){{2,}}|(?:~\w*|\$\{{?\w+\}}?)(?:{_PART})+)/?")
"""An absolute path of two parts or more, or one from a home folder or a variable; `examples/s` and `1/2` are none."""
_PRIVATE_KEYS = re.compile(r"node_list|user|home|cwd|path", re.IGNORECASE)
"""Keys of facts whose values are left out; a list of nodes is compressed, so that no host is found in it."""
_PRIVATE_OPTIONS = ("command", "env", "cwd")
"""Options of the workload of a script."""
LEFT_OUT = "(left out)"
_IDENTIFIERS = ("session_id", "suite")
"""Columns that stay as they are, because pages refer to each other by them."""


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """Replaces what others shall not see in rows of queries."""

    hosts: dict[str, str]
    """Name of a host -> the word in its place."""

    def frame(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows without host names, paths and command lines."""
        columns = []
        for name, kind in rows.schema.items():
            if name == "command":
                columns.append(pl.lit(None, dtype=kind).alias(name))
            elif name == "config":
                columns.append(pl.col(name).map_elements(self._config, return_dtype=pl.String))
            elif kind == pl.String and name not in _IDENTIFIERS:
                columns.append(pl.col(name).map_elements(self.text, return_dtype=pl.String))
            elif kind == pl.List(pl.String):
                columns.append(
                    pl.col(name).list.eval(pl.element().map_elements(self.text, return_dtype=pl.String))
                )
        rows = rows.with_columns(columns)
        if {"key", "value"} <= set(rows.columns):
            is_private = pl.col("key").str.contains(f"(?i){_PRIVATE_KEYS.pattern}")
            rows = rows.with_columns(
                pl.when(is_private).then(pl.lit(LEFT_OUT)).otherwise("value").alias("value")
            )
        return rows

    def _config(self, value: str) -> str:
        """A run's configuration as JSON, without the command of a script, its variables and its folder."""
        config = json.loads(value)
        options = config.get("workload_options")
        if isinstance(options, dict):
            config["workload_options"] = {
                key: LEFT_OUT if key in _PRIVATE_OPTIONS else option for key, option in options.items()
            }
        return self.text(json.dumps(config, ensure_ascii=False))

    def text(self, value: str) -> str:
        """The text with other words in place of host names and paths."""
        shown = _PATH.sub("(path)", value)
        if self.hosts:
            names = "|".join(re.escape(name) for name in sorted(self.hosts, key=len, reverse=True))
            shown = re.sub(rf"(?<![\w.-])(?:{names})(?![\w-])", lambda found: self.hosts[found[0]], shown)
        return shown


_CURRENT: ContextVar[Redaction | None] = ContextVar("redaction", default=None)


@contextmanager
def redacting(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Within it, every query of the report returns redacted rows."""
    query = "SELECT DISTINCT value FROM environment WHERE key = 'hostname' ORDER BY value"
    hosts: dict[str, str] = {}
    for place, (name,) in enumerate(connection.execute(query).fetchall()):
        for known in (name, name.partition(".")[0]):
            if known:
                hosts.setdefault(known, f"host-{place + 1}")
    token = _CURRENT.set(Redaction(hosts=hosts))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def redacted(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, redacted within `redacting`."""
    current = _CURRENT.get()
    return rows if current is None else current.frame(rows)
