"""Imported first by a fork server in another Python: its processes keep its path and never see the caller's
packages."""

from collections.abc import Mapping
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from bench.common import safe_path

safe_path.find_us_in(Path(__file__).absolute().parents[2])  # not next to the packages of the caller

_prepare = spawn.prepare


def _without_the_callers_path(data: Mapping[str, Any]) -> None:
    _prepare({key: value for key, value in data.items() if key != "sys_path"})


spawn.prepare = _without_the_callers_path
