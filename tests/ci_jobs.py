"""The scripts of the CI job files in docs/ci."""

from __future__ import annotations

from pathlib import Path

import yaml

_FOLDER = Path(__file__).parents[1] / "docs/ci"


def _gitlab() -> dict[str, str]:
    jobs = yaml.safe_load((_FOLDER / "gitlab.yml").read_text(encoding="utf-8"))
    return {name: "\n".join(jobs[name]["script"]) for name in ("measure", "compare")}


def _github() -> dict[str, str]:
    jobs = yaml.safe_load((_FOLDER / "github.yml").read_text(encoding="utf-8"))["jobs"]
    steps = {
        name: [step["run"] for step in jobs[name]["steps"] if "run" in step]
        for name in ("measure", "compare")
    }
    return {name: "set -eo pipefail\n" + "\n".join(runs) for name, runs in steps.items()}


SCRIPTS = {"gitlab": _gitlab(), "github": _github()}
"""Name of the file -> job -> what its shell runs."""
