"""What torch cannot do is refused by name, with the reason; what it can do beside it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.errors import InputError
from bench.suite.models import ResolvedSuite
from bench.suite.resolve import load_suite


def suite(folder: Path, strategy: dict[str, object], **keys: object) -> ResolvedSuite:
    case = {"name": "one", "strategy": strategy, "scaling": "strong", "global_batch": 24, "world": [1, 2, 4]}
    path = folder / "s.yaml"
    path.write_text(
        json.dumps(
            {
                "title": "One case",
                "workload": {"name": "spiral_mlp"},
                "cases": [{"measure": {"warmup": 3, "steps": 4}, **case, **keys}],
            }
        )
    )
    return load_suite(str(path))


def refusal(folder: Path, strategy: dict[str, object], **keys: object) -> str:
    with pytest.raises(InputError) as raised:
        suite(folder, strategy, **keys)
    return str(raised.value)


def test_what_a_static_graph_ignores_is_refused(tmp_path: Path) -> None:
    both = {"name": "ddp", "static_graph": True, "find_unused_parameters": True}
    assert "torch ignores find_unused_parameters under static_graph" in refusal(tmp_path, both)


def test_powersgd_in_fp16_is_refused_and_in_bf16_is_not(tmp_path: Path) -> None:
    powersgd = {"name": "ddp", "gradient_compression": "powersgd"}
    text = refusal(tmp_path, powersgd, train={"precision": "fp16"})
    assert "an overflow of fp16 stays in there" in text
    assert suite(tmp_path, powersgd, train={"precision": "bf16"}).cases
    halved = {"name": "ddp", "gradient_compression": "fp16"}
    assert suite(tmp_path, halved, train={"precision": "fp16"}).cases


def test_powersgd_must_begin_in_the_warm_up(tmp_path: Path) -> None:
    powersgd = {"name": "ddp", "gradient_compression": "powersgd", "powersgd_start_step": 4}
    assert "begins after 4 whole steps (powersgd_start_step), and measure.warmup is 3" in refusal(
        tmp_path, powersgd
    )
    assert suite(tmp_path, {**powersgd, "powersgd_start_step": 3}).cases
