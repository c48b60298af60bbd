"""A training script that knows nothing of bench, on two nodes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster.studies import Study

TRAIN = Path(__file__).parents[3] / "docs/custom/train.py"
COMMAND = "python train.py --batch-size 8"
MEASURE = {"warmup": 2, "steps": 6, "repeats": 1, "timeout_s": 120}


@pytest.mark.shortest
def test_a_script_trains_on_two_nodes(cluster: Any, image: str) -> None:
    study = Study(cluster, image, "userscript")
    shutil.copy(TRAIN, study.folder)
    options = "--warmup 2 --steps 6 --repeats 1 --timeout 120 --world 1,2x1 --isolate --session run"
    step = study.finish(f"{options} -- {COMMAND}", command="run")
    assert step.wait() == 0, step.said
    suite = {
        "title": "Mine",
        "workload": {"command": COMMAND.split()},
        "measure": MEASURE,
        "cases": [{"name": "command", "world": ["2x2"]}],
    }
    (study.folder / "mine.yaml").write_text(json.dumps(suite))  # JSON is YAML
    step = study.finish("./mine.yaml --session suite")
    assert step.wait() == 0, step.said
    runs = study.asked(
        "SELECT run_id, status, ranks_train, global_batch, steps_completed, scaling_mode FROM runs ORDER BY world_size"
    )
    assert runs == [
        ("command.1x1.r0", "ok", None, 8, 8, "weak"),
        ("command.2x1.r0", "ok", "one model", 16, 8, "weak"),
        ("command.2x2.r0", "ok", "one model", 32, 8, "none"),
    ]
    hosts = study.asked(
        "SELECT node, count(DISTINCT rank) FROM steps WHERE run_id = 'command.2x2.r0' GROUP BY node"
    )
    assert sorted(hosts) == [(0, 2), (1, 2)]
    assert study.rows("run", "command.2x1.r0", 0) == {0: 10, 1: 10}  # with profiled ones
