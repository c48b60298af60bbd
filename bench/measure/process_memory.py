"""What the kernel says of this process's memory."""

from __future__ import annotations

import re
from pathlib import Path

_SIZE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


def status_bytes() -> dict[str, int]:
    """Every size in /proc/self/status by its name; VmData is what RLIMIT_DATA counts."""
    return {name: 1024 * int(size) for name, size in _SIZE.findall(Path("/proc/self/status").read_text())}


def peak_private_bytes() -> int:
    """Of this process, since it began: the kernel knows the peak of the resident set, of which pages of files, which no
    limit counts, come to stay."""
    status = status_bytes()
    return status["VmHWM"] - status["RssFile"] - status["RssShmem"]
