"""The leading task's side of a step's begin and end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.cluster import gather
from bench.cluster.channel import Channel, Lost
from bench.cluster.gather import Gathering
from bench.cluster.meeting import join
from bench.cluster.secret import secret_file, shared_secret
from bench.common.errors import InputError
from bench.records.messages import Begin, Hello
from tests.unit.agent.test_placement import offer
from tests.unit.cluster.sockets import PATIENCE_S
from tests.unit.cluster.test_meeting import step

FOR_EVER_S = 3600.0


@pytest.fixture(autouse=True)
def _no_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("SLURM_", "CUDA_VISIBLE"))]:
        monkeypatch.delenv(name)


def follow(results: Path, task: int) -> Channel:
    channel = join(step(task), shared_secret(results, step().key), PATIENCE_S)
    channel.send(Hello(offer=offer(task=task, local_task=task), facts={f"of{task}": "x"}))
    return channel


@contextmanager
def followers(results: Path) -> Iterator[list[Channel]]:
    """Both followers of a step of three; they come while the leader waits."""
    with ThreadPoolExecutor(2) as pool:
        coming = [pool.submit(follow, results, task) for task in (1, 2)]
        here: list[Channel] = []
        yield here
        here += [one.result() for one in coming]


def words(channel: Channel) -> list[str]:
    """All messages to a follower until its leader left."""
    found = []
    try:
        while True:
            found.append(channel.receive(PATIENCE_S).kind)
    except Lost:
        return found


def test_everyone_is_known_with_offers_and_facts_and_let_go_in_the_end(tmp_path: Path) -> None:
    with followers(tmp_path) as here, Gathering(step(), tmp_path, 4) as leader:
        gathered = leader.wait()
        assert [one.task for one in gathered.offers] == [0, 1, 2]
        assert gathered.facts[0]["of1"] == gathered.facts[0]["of2"] == "x"
        assert not secret_file(tmp_path, step().key).exists()
        gathered.announce_begin(Begin(loads_torch=True, uses_gpus=False))
    assert [words(channel) for channel in here] == [["begin", "leave"]] * 2


def test_a_mistake_found_before_anyone_is_here_still_lets_everyone_go(tmp_path: Path) -> None:
    def fail() -> None:
        with Gathering(step(), tmp_path, 4):
            raise InputError("a mistake in the suite")

    with followers(tmp_path) as here, pytest.raises(InputError):
        fail()
    assert [words(channel) for channel in here] == [["leave"]] * 2
    assert list(tmp_path.iterdir()) == []


def test_who_interrupts_does_not_wait_for_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "_DISMISSAL_S", FOR_EVER_S)

    def interrupted() -> None:
        with Gathering(step(), tmp_path, 4):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_outside_of_a_step_nobody_is_waited_for(tmp_path: Path) -> None:
    with Gathering(None, tmp_path, 4) as alone:
        gathered = alone.wait()
    assert (len(gathered.offers), gathered.slots.slots_per_node, gathered.address) == (1, 4, "127.0.0.1")
    assert list(tmp_path.iterdir()) == []
