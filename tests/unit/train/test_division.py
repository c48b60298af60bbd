"""A model that does not divide among the ranks of a mesh is refused before a session exists."""

from __future__ import annotations

from typing import Any

import pytest

from bench import strategies, workloads
from bench.common.errors import InputError
from bench.records.run_spec import TrainSpec

LM = {
    "layers": 4,
    "d_model": 32,
    "heads": 4,
    "sequence_length": 16,
    "vocab_size": 256,
    "tie_embeddings": False,
}


@pytest.mark.parametrize(
    ("strategy", "options", "world", "workload", "message"),
    [
        ("tp", {}, 3, {}, "heads 4 does not divide among 3 ranks of the dimension tp: 4 / 3 = 1.33"),
        (
            "tp",
            {"sequence_parallel": True},
            4,
            {"sequence_length": 18},
            "sequence_length 18 does not divide among 4 ranks (sequence_parallel): 18 / 4 = 4.5",
        ),
        ("tp", {"sequence_parallel": True}, 4, {"dropout": 0.1}, "use dropout: 0"),
    ],
)
def test_a_model_that_does_not_divide_is_refused_before_the_session(
    strategy: str, options: dict[str, Any], world: int, workload: dict[str, Any], message: str
) -> None:
    asked = {
        "workload": "transformer_lm",
        "source": "synthetic",
        "data_root": None,
        "seed": 0,
    }
    made = workloads.make(asked | {"options": LM | {"validation_examples": 0} | workload})
    made.prepare()
    with pytest.raises(InputError) as refused:
        strategies.suits(strategy, options, world, made, TrainSpec())  # type: ignore[arg-type] # transformer_lm has tp_plan
    assert message in str(refused.value)


def test_compiled_blocks_and_fused_optimizers_under_tp_need_data_parallelism() -> None:
    asked = {
        "workload": "transformer_lm",
        "source": "synthetic",
        "data_root": None,
        "seed": 0,
    }
    made: Any = workloads.make(asked | {"options": LM})
    with pytest.raises(InputError, match=r"leave out train\.compile, or add data parallelism"):
        strategies.suits("tp", {}, 2, made, TrainSpec(compile=True))
    with pytest.raises(InputError, match=r"leave out train\.fused_optimizer"):
        strategies.suits("tp", {}, 2, made, TrainSpec(fused_optimizer=True))
    strategies.suits("mesh", {"tp": 2}, 4, made, TrainSpec(fused_optimizer=True))
    strategies.suits("mesh", {"tp": 2}, 4, made, TrainSpec(compile=True))
