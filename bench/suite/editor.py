"""Let editors complete and check a suite file: its schema next to it, and a first line that names the schema."""

from __future__ import annotations

from pathlib import Path

from bench.common.errors import InputError

SCHEMA = "suite.schema.json"
LINE = f"# yaml-language-server: $schema={SCHEMA}\n"


def set_up(suite: Path, schema: str) -> Path:
    """Write `schema` next to the suite's file and name it in the file's first line, unless a line does so already.

    Returns the schema's path. Raises InputError if the file is not text."""
    try:
        written = suite.read_bytes().decode()
    except UnicodeDecodeError:
        raise InputError(f"{suite}: this is not a text in UTF-8: give the YAML file of a suite") from None
    path = suite.with_name(SCHEMA)
    path.write_text(schema, encoding="utf-8")
    if "yaml-language-server:" not in written:
        suite.write_bytes(f"{LINE}{written}".encode())
    return path
