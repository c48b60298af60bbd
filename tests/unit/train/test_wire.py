"""Steps with longer and shorter messages, on two real ranks: what they send, and that they leave no trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROUNDS = 3


class Ranks(NamedTuple):
    answers: list[dict[str, Any]]
    factors: list[float]


def train(folder: Path, strategy: str, factors: list[float], *words: str) -> Ranks:
    program = [sys.executable, "-m", "tests.unit.train.wire_rank", str(folder), strategy, json.dumps(factors)]
    done = subprocess.run(
        [*program, *words], cwd=Path(__file__).parents[3], text=True, capture_output=True, check=False,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Ranks([json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)], factors)


@pytest.fixture(scope="module")
def ddp(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    return train(tmp_path_factory.mktemp("ddp"), "ddp", [0.5, 2.0])


@pytest.fixture(scope="module")
def fsdp(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    return train(tmp_path_factory.mktemp("fsdp"), "fsdp", [1.0, 2.0])


@pytest.mark.parametrize("ranks", ["ddp", "fsdp"])
def test_everything_that_trains_is_afterwards_as_it_was(ranks: str, request: pytest.FixtureRequest) -> None:
    """Also under ddp, whose ranks' weights diverge if a part of the gradients is not averaged."""
    for answer in request.getfixturevalue(ranks).answers:
        assert answer["kept"] == {"weights": True, "optimizer": True, "averages": True, "random": True}


def test_each_round_has_a_step_of_each_factor_and_ranks_agree_on_the_order(ddp: Ranks) -> None:
    first, second = (answer["rows"] for answer in ddp.answers)
    assert first == second
    for number in range(ROUNDS):
        assert sorted(factor for factor, round_, _ in first if round_ == number) == [0.0, 0.5, 1.0, 2.0]
    assert [step for *_, step in first] == list(range(6, 6 + 4 * ROUNDS))
    orders = [tuple(factor for factor, round_, _ in first if round_ == number) for number in range(ROUNDS)]
    assert len(set(orders)) > 1


def sent_by_factor(answer: dict[str, Any]) -> dict[float, list[tuple[int, int]]]:
    """Elements and addresses of the messages of all kept steps."""
    kept = answer["sent"][-len(answer["rows"]) :]
    found: dict[float, list[tuple[int, int]]] = {}
    for (factor, *_), messages in zip(answer["rows"], kept, strict=True):
        found.setdefault(factor, []).extend(tuple(one) for one in messages)
    return found


def test_ddp_sends_the_gradients_times_each_factor_in_one_message_and_none_for_0(ddp: Ranks) -> None:
    answer = ddp.answers[0]
    whole = sum(map(len, answer["weights"]))
    elements = {factor: [size for size, _ in sent] for factor, sent in sent_by_factor(answer).items()}
    assert elements == {
        factor: [round(factor * whole)] * ROUNDS * (factor > 0) for factor in (0.0, 0.5, 1.0, 2.0)
    }


def test_fsdp_sends_as_many_messages_of_another_length(fsdp: Ranks) -> None:
    answer = fsdp.answers[0]
    elements = {factor: Counter(size for size, _ in sent) for factor, sent in sent_by_factor(answer).items()}
    usual = Counter(answer["usual"] * ROUNDS)
    assert usual
    assert elements == {1.0: usual, 2.0: Counter({2 * size: count for size, count in usual.items()})}


@pytest.mark.parametrize("ranks", ["ddp", "fsdp"])
def test_messages_of_every_length_are_copied_to_the_same_memory(
    ranks: str, request: pytest.FixtureRequest
) -> None:
    """Otherwise steps with longer messages would also differ by these copies."""
    addresses = {
        factor: {address for _, address in sent}
        for factor, sent in sent_by_factor(request.getfixturevalue(ranks).answers[0]).items()
        if factor > 0
    }
    assert len(addresses) > 1
    assert all(found == addresses[1.0] for found in addresses.values())


def test_fsdp_computes_the_same_step_with_longer_messages(fsdp: Ranks) -> None:
    for answer in fsdp.answers:
        usual, *others = answer["weights_after_a_step"]
        assert usual != answer["weights"]
        assert len(others) == 2
        assert all(other == usual for other in others)


@pytest.mark.parametrize(("strategy", "factors"), [("ddp", [0.5, 1.0]), ("fsdp", [1.0, 2.0])])
def test_a_compiled_model_sends_other_lengths_and_is_compiled_before_the_steps_that_count(
    strategy: str, factors: list[float], tmp_path: Path
) -> None:
    for answer in train(tmp_path, strategy, factors, "compiled").answers:
        assert all(answer["kept"].values())
        elements = {factor: sum(size for size, _ in sent) for factor, sent in sent_by_factor(answer).items()}
        assert elements[factors[1]] == pytest.approx(elements[factors[0]] * 2, abs=ROUNDS)
        kept = answer["compilations"][-len(answer["rows"]) :]
        assert kept[0] == kept[-1] > 0
