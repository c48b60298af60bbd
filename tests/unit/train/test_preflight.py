"""If training needs something that the machine lacks, an error says so before a session exists."""

from __future__ import annotations

import json
from multiprocessing import Pipe
from pathlib import Path

from bench.plan.plan import plan
from bench.records.run_spec import Slots
from bench.session.preflight import question
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from bench.train import preflight

SUITE = """\
title: Asks for much
workload: {name: spiral_mlp}
measure: {warmup: 3, steps: 3}
cases:
  - {name: one, strategy: single, scaling: none, batch_per_rank: 8, world: [1]}
"""


def _problems(folder: Path, *settings: str, data: Path | None = None) -> list[str]:
    (folder / "suite.yaml").write_text(SUITE)
    suite = load_suite(str(folder / "suite.yaml"), Selection(settings=settings))
    planned = plan(suite, Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu"), "session")
    job = question(planned[0].spec) | {"data_root": data and str(data)}
    ours, theirs = Pipe(duplex=False)
    preflight.main(theirs, json.dumps([job]))
    problems: list[str] = json.loads(ours.recv_bytes())
    return problems


def test_compiling_without_a_compiler_is_refused(tmp_path: Path) -> None:
    from torch._inductor import config

    with config.patch({"cpp.cxx": ("no-such-compiler",)}):
        assert _problems(tmp_path) == []
        assert _problems(tmp_path, "train.compile=true") == [
            "case one: train.compile: on a CPU it needs a C++ compiler, and none was found: "
            "install g++, or name one in CXX"
        ]


def test_compiling_with_one_is_not(tmp_path: Path) -> None:
    assert _problems(tmp_path, "train.compile=true") == []


def test_a_folder_that_cannot_be_read_is_named_with_its_case(tmp_path: Path) -> None:
    for name in ("ant", "bee"):
        (tmp_path / "train" / name).mkdir(parents=True)
    (tmp_path / "train" / "loop").symlink_to("loop")
    settings = ("workload.name=vit_b_16", "data.source=imagefolder")
    assert _problems(tmp_path, *settings, data=tmp_path) == [
        f"case one: {tmp_path}/train/loop cannot be read: Too many levels of symbolic links"
    ]
