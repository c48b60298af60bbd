"""Every private name that bench and its probe use exists in each version of torch in which its table has seen it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.versions.conftest import ROOT

PROGRAM = """
import json
import sys
import torch
from torch.utils.data import DataLoader
from bench.common import torch_private
from bench.probe.bench_probe import torch_private as of_probe

version = ".".join(torch.__version__.split(".")[:2])
wrong = []
for table in (torch_private, of_probe):
    for name, entry in table.NAMES.items():
        if name == "cuda_device_count" and not torch.backends.cuda.is_built():
            continue
        try:
            getattr(table, name)
            is_there = True
        except (ImportError, AttributeError):
            is_there = False
        if is_there != (version in entry.seen):
            wrong.append([name, is_there, entry.seen])
with_a_process = iter(DataLoader([1, 2], num_workers=1, persistent_workers=True))
facts = {
    "version": version,
    "wrong": wrong,
    "schema": torch_private.schema_of(torch.ops.aten.mm.default).name,
    "loaders": [process.is_alive() for process in torch_private.loaders_of(with_a_process)],
    "workers": [of_probe.workers_of(with_a_process), of_probe.workers_of(iter(DataLoader([1])))],
    "modules": list(of_probe.modules_in(torch.nn.Sequential(torch.nn.ReLU()))),
}
print(json.dumps(facts))
"""


@pytest.mark.parametrize("torch", ["2.11", "locked"])
def test_the_private_names_of_torch_are_where_the_tables_say(
    torch: str, request: pytest.FixtureRequest
) -> None:
    python: Path | str = sys.executable if torch == "locked" else request.getfixturevalue("torch_2_11")
    done = subprocess.run(
        [python, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    if torch != "locked":
        assert facts["version"] == torch
    del facts["version"]
    assert facts == {
        "wrong": [],
        "schema": "aten::mm",
        "loaders": [True],
        "workers": [[1, False], [0, False]],
        "modules": ["0"],
    }
