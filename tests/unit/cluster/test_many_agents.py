"""A step of 64 agents over real connections: the leader tells each agent of every run, and hears from each."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from bench.cluster import meeting
from bench.cluster.agents import interface_for
from bench.cluster.channel import Hub
from bench.cluster.meeting import Meeting
from bench.common.errors import InputError
from bench.records.messages import Ready
from tests.unit.cluster.sockets import channels
from tests.unit.cluster.test_meeting import step
from tests.unit.session.test_session import run_spec

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def coordination(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """As `python benchmarks/coordination.py` imports it."""
    for name in [name for name in os.environ if name.startswith(("SLURM_", "CUDA_VISIBLE"))]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import coordination

    return coordination


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_sixty_four_agents_are_told_of_every_run_in_order_and_one_that_dies_ends_it_for_all(
    coordination: ModuleType, tmp_path: Path
) -> None:
    found = coordination.measured(64, tmp_path, barriers=3, idle_s=0.2)
    assert found.agents == 64
    assert found.in_order
    assert list(tmp_path.iterdir()) == []


def test_a_hub_knows_who_has_something_to_say_and_who_has_left() -> None:
    with channels() as (one, far_one), channels() as (two, far_two):
        hub = Hub({1: one, 2: two})
        assert hub.ready() == []
        far_two.send(Ready())
        assert those_who_speak(hub) == [2]
        assert two.poll() == Ready()
        assert hub.ready() == []
        far_one.close()
        assert those_who_speak(hub) == [1]
        hub.leave_out(1)
        assert hub.ready() == []
        one.close()
        hub.leave_out(1)
        hub.close()


def those_who_speak(hub: Hub) -> list[int]:
    from multiprocessing.connection import wait

    assert wait([hub], timeout=20.0) == [hub]
    return hub.ready()


def test_a_leader_of_many_may_open_as_many_files(secret: bytes, limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))
    Meeting(step(tasks=(600,)), secret).close()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 600


def test_a_leader_that_may_not_says_so(secret: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting.resource, "getrlimit", lambda _what: (1024, 4096))
    with pytest.raises(
        InputError, match=r"of 6000 needs 6512 open files and may have 4096: raise the hard limit"
    ):
        Meeting(step(tasks=(6000,)), secret)


def test_the_interface_of_a_node_is_the_one_that_has_its_address() -> None:
    two_nodes = run_spec(nodes=2, world_size=4)
    assert interface_for(two_nodes, "127.0.0.1") == "lo"
    for_documentation = "192.0.2.1"  # which no interface has
    assert interface_for(two_nodes, for_documentation) is None
    assert interface_for(run_spec(), for_documentation) == "lo"
