"""A rank's outcome gives the reason for its end, including sys.exit in a user's method."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from bench.train import rank
from bench.train.rank_job import RankJob
from tests.unit.workloads.runs import spec


@pytest.mark.parametrize("raised", [SystemExit("bye"), KeyboardInterrupt("bye"), ValueError("bye")])
def test_whatever_is_raised_is_the_runs_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    def run(*_: object) -> None:
        raise raised

    codes: list[object] = []
    for name, instead in {"_become_a_rank": lambda *_: None, "_run": run, "_exit": codes.append}.items():
        monkeypatch.setattr(rank, name, instead)
    monkeypatch.setattr(rank, "_write_outcome", lambda _, outcome: codes.append(outcome))
    job = RankJob(
        spec=spec(batch_per_rank=4).to_json(), rank=0, node=0, local_rank=0, local_task=0, cpus=[0], device_index=None,
        cuda_visible_devices=None, shares_gpus=False, rendezvous="", interface=None,
        scratch=str(tmp_path), log="", server_pid=0, variables_of_bench=[],
    )  # fmt: skip
    with pytest.raises(UnboundLocalError):  # _leave ends the process, where it is the real one
        rank.main(json.dumps(asdict(job)))
    assert codes == [
        {"error": f"{type(raised).__name__}: bye (test_rank_ends.py:21, in run)", "oom": False},
        1,
    ]
