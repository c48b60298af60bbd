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
        ("pp", {}, 8, {}, "4 layers are too few for 8 stages of a pipeline"),
        ("pp", {"schedule": "interleaved"}, 4, {}, "4 layers are too few for 8 stages of a pipeline"),
        ("ep", {}, 2, {}, "give the workload experts, as in experts: 8"),
        (
            "ep",
            {},
            4,
            {"experts": 6},
            "6 experts do not divide among 4 ranks of the dimension ep: 6 / 4 = 1.5",
        ),
        ("pp", {}, 2, {"experts": 4}, "leave out experts, or pp"),
        ("tp", {"sequence_parallel": True}, 2, {"experts": 4}, "on other tokens"),
        ("pp", {}, 2, {"tie_embeddings": True}, "use tie_embeddings: false"),
        ("cp", {}, 3, {}, "sequence_length 16 does not divide into 6 parts, two for each of 3 ranks"),
        ("cp", {}, 2, {"dropout": 0.1}, "dropout needs whole sequences, which no rank has under cp"),
        ("cp", {}, 2, {"experts": 4}, "experts needs whole sequences, which no rank has under cp"),
    ],
)
def test_a_model_that_does_not_divide_is_refused_before_the_session(
    strategy: str, options: dict[str, Any], world: int, workload: dict[str, Any], message: str
) -> None:
    asked = {
        "workload": "transformer_lm",
        "source": "synthetic",
        "source_options": {},
        "data_root": None,
        "seed": 0,
    }
    made = workloads.make(asked | {"options": LM | {"validation_examples": 0} | workload})
    made.prepare()
    with pytest.raises(InputError) as refused:
        strategies.suits(strategy, options, world, made, TrainSpec())  # type: ignore[arg-type] # transformer_lm has both methods
    assert message in str(refused.value)


def test_compiled_blocks_and_fused_optimizers_under_tp_need_data_parallelism() -> None:
    asked = {
        "workload": "transformer_lm",
        "source": "synthetic",
        "source_options": {},
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
