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


def train(folder: Path, strategy: str, factors: list[float]) -> Ranks:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.unit.train.wire_rank", str(folder), str(rank), strategy, json.dumps(factors)],
            cwd=Path(__file__).parents[3], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [rank.communicate(timeout=240)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
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
        assert answer["kept"] == {"weights": True, "optimizers": True, "averages": True, "random": True}


def test_each_round_has_a_step_of_each_factor_and_ranks_agree_on_the_order(ddp: Ranks) -> None:
    first, second = (answer["rows"] for answer in ddp.answers)
    assert first == second
    for number in range(ROUNDS):
        assert sorted(factor for factor, round_, _ in first if round_ == number) == [0.0, 0.5, 1.0, 2.0]
    assert [step for *_, step in first] == list(range(6, 6 + 4 * ROUNDS))
    orders = [tuple(factor for factor, round_, _ in first if round_ == number) for number in range(ROUNDS)]
    assert len(set(orders)) > 1


def test_ddp_sends_the_gradients_times_each_factor_in_one_message_and_none_for_0(ddp: Ranks) -> None:
    answer = ddp.answers[0]
    whole = answer["parameters"]
    assert Counter(answer["sent"]) == dict.fromkeys((round(whole / 2), whole, 2 * whole), ROUNDS + 1)


def test_fsdp_sends_as_many_messages_of_another_length(fsdp: Ranks) -> None:
    """Longer messages have exactly twice the elements of the usual ones, of which there are as many."""
    sent = Counter(fsdp.answers[0]["sent"])
    usual = Counter({size: count for size, count in sent.items() if 2 * size in sent})
    assert usual
    assert sum(sent.values()) % 2 == 0
    total = sum(size * count for size, count in sent.items())
    steps = ROUNDS + 1
    of_a_step = total / steps
    assert of_a_step % 3 == 0  # once with the usual messages, once with twice as long ones
    assert {factor for factor, *_ in fsdp.answers[0]["rows"]} == {1.0, 2.0}
