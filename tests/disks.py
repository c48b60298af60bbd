"""Small disks for tests: tmpfs that a test fills, widens and makes read-only while a `bench` uses them."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Disk:
    """A mounted tmpfs of a given size."""

    def __init__(self, folder: Path, size: str) -> None:
        folder.mkdir()
        self.folder = folder
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)

    def mount(self, options: str) -> None:
        """Change it while it is in use: `size=64m`, `ro`, `rw`."""
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.folder)], check=True)

    def fill(self) -> None:
        """Fill it to the last byte."""
        with (self.folder / "filling").open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                return

    def free(self) -> None:
        (self.folder / "filling").unlink()

    def gone(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=True)
