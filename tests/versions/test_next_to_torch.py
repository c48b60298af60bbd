"""scalebench installs next to a torch that is there already, and leaves it as it is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.versions.conftest import ROOT

LIST = """
import json
from importlib.metadata import distributions
print(json.dumps({found.name.lower(): found.version for found in distributions()}))
"""


def test_pip_installs_it_next_to_torch_and_changes_no_package(
    uv: str, torch_2_11: Path, tmp_path: Path
) -> None:
    """Into an environment that sees torch's; pip would install there what it wants to replace."""
    wheels, own = tmp_path / "wheels", tmp_path / "own"
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", wheels, ROOT], check=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([torch_2_11, "-m", "venv", own], check=True)
    python = own / "bin/python"
    (packages,) = torch_2_11.parents[1].glob("lib/python3*/site-packages")
    (there,) = own.glob("lib/python3*/site-packages")
    (there / "torch.pth").write_text(f"{packages}\n")

    before = _versions(python)
    assert before["torch"].startswith("2.11.0")
    assert any(name.startswith("nvidia-") for name in before)
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{wheel}[analysis]"], check=True)
    after = _versions(python)
    assert after["scalebench"]
    assert {name: version for name, version in before.items() if after[name] != version} == {}
    asked = [python, "-P", "-c", "import torch; print(torch.__file__)"]
    assert subprocess.run(asked, check=True, capture_output=True, text=True).stdout.startswith(str(packages))


def _versions(python: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(
        subprocess.run([python, "-P", "-c", LIST], check=True, capture_output=True, text=True).stdout
    )
    return found
