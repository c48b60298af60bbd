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
_BEFORE = r"(?:(?<![\w./~$])|(?<=-[A-Z])|(?<=\w/))"
"""Nothing that continues a word, or a compiler's option such as -I."""
_PATHS = (
    r"(?P<quote>['\"])(?:~?/|[A-Za-z]:\\)[^'\"\n]*(?P=quote)",  # in quotes, with spaces
    r"\b(?!https?://)[a-z][a-z0-9+]*://[^\s'\"<>]+",  # s3://bucket/data
    r"\b[A-Za-z]:\\[^\s'\"<>|]+",
    r"\\\\[\w.-]+\\[^\s'\"<>|]+",
    rf"{_BEFORE}(?:(?:{_PART}){{2,}}|/[A-Za-z_][\w.@+~%=-]+|(?:~\w*|\$\{{?\w+\}}?|\.\.)(?:{_PART})+)/?",
)
_PATH = re.compile("|".join(f"(?:{one})" for one in _PATHS))
"""An absolute path, one from a home folder, a variable or the folder above, or an address of files; `examples/s` and
`1/2` are none."""
_ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4})(?![\w.])")
"""An IPv4 or IPv6 address, or a network card's."""
_PRIVATE_KEYS = re.compile(r"node_list|user|home|cwd|path", re.IGNORECASE)
"""Keys of facts whose values are left out; a list of nodes is compressed, so that no host is found in it."""
_PRIVATE_OPTIONS = ("command", "env", "cwd")
"""Options of the workload `command`."""
LEFT_OUT = "(left out)"
_IDENTIFIERS = ("session_id", "suite")
"""Columns that stay as they are, because pages refer to each other by them."""


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """Replaces what others shall not see in rows of queries."""

    hosts: dict[str, str]
    """Name of a host in lower case -> the word in its place."""

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
        """A run's configuration as JSON, without a user's command, its variables and its folder."""
        config = json.loads(value)
        options = config.get("workload_options")
        if isinstance(options, dict):
            config["workload_options"] = {
                key: LEFT_OUT if key in _PRIVATE_OPTIONS else option for key, option in options.items()
            }
        return self.text(json.dumps(config, ensure_ascii=False))

    def text(self, value: str) -> str:
        """The text with other words in place of host names and paths."""
        shown = _ADDRESS.sub("(address)", _PATH.sub(r"\g<quote>(path)\g<quote>", value))
        if self.hosts:
            names = "|".join(re.escape(name) for name in sorted(self.hosts, key=len, reverse=True))
            named = rf"(?<![\w.-])({names})(?:[.-][\w-]+)*(?!\w)"  # also gpu02-ib0 and gpu02.example.org
            shown = re.sub(named, lambda found: self.hosts[found[1].lower()], shown, flags=re.IGNORECASE)
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
                hosts.setdefault(known.lower(), f"host-{place + 1}")
    token = _CURRENT.set(Redaction(hosts=hosts))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def redacted(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, redacted within `redacting`."""
    current = _CURRENT.get()
    return rows if current is None else current.frame(rows)
