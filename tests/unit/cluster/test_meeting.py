"""The place where the tasks of a step meet; no other process takes part or gets in the way."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from bench.cluster import meeting
from bench.cluster.channel import Channel
from bench.cluster.meeting import Meeting, join, own_address, ports, resolve
from bench.common.errors import InputError
from bench.launch.step import Step
from bench.records.messages import Hello, Started
from tests.unit.agent.test_placement import offer
from tests.unit.cluster.sockets import PATIENCE_S, meanwhile

SHORT_S = 0.5
"""Limit for handshakes that are meant to take too long."""


def step(task: int = 0, *, tasks: tuple[int, ...] = (3,)) -> Step:
    nodes = [node for node, count in enumerate(tasks) for _ in range(count)]
    return Step(
        launcher="Slurm",
        key="7.0.0",
        node_names=("localhost", "127.0.0.1", "127.0.0.2")[: len(tasks)],
        tasks_per_node=tasks,
        task=task,
        local_task=task - nodes.index(nodes[task]),
        node=nodes[task],
    )


def follow(task: int, secret: bytes) -> Channel:
    """Join as a follower and say hello."""
    channel = join(step(task), secret, PATIENCE_S)
    channel.send(Hello(offer=offer(task=task), facts={}))
    return channel


@contextmanager
def following(secret: bytes, *tasks: int) -> Iterator[list[Channel]]:
    with ThreadPoolExecutor(len(tasks)) as pool:
        channels = list(pool.map(lambda task: follow(task, secret), tasks))
    yield channels
    for channel in channels:
        channel.close()


def listening(secret: bytes) -> list[tuple[str, int]]:
    """Addresses on which this process listens at a port of the secret."""
    here = psutil.Process().net_connections("tcp")
    return [
        (one.laddr.ip, one.laddr.port)
        for one in here
        if one.status == psutil.CONN_LISTEN and one.laddr.port in ports(secret)
    ]


def test_every_follower_joins_under_its_task_and_is_heard(secret: bytes) -> None:
    leader = Meeting(step(), secret)
    with following(secret, 2, 1) as (second, first):
        joined = leader.wait(PATIENCE_S)
        assert sorted(joined) == [1, 2]
        for task, channel in ((1, first), (2, second)):
            assert joined[task].hello.offer.task == task
            joined[task].channel.send(Started(pids=[task]))
            assert channel.receive(PATIENCE_S) == Started(pids=[task])
    assert leader.refused == 0


def test_a_follower_may_come_before_its_leader(secret: bytes) -> None:
    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(follow, 1, secret)
        leader = Meeting(step(tasks=(2,)), secret)
        assert sorted(leader.wait(PATIENCE_S)) == [1]
        early.result().close()


def test_only_one_address_is_listened_on_and_nothing_once_all_are_here(secret: bytes) -> None:
    leader = Meeting(step(), secret)
    assert listening(secret) == [("127.0.0.1", ports(secret)[0])]
    with following(secret, 1, 2):
        leader.wait(PATIENCE_S)
        assert listening(secret) == []
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", ports(secret)[0]))


def test_nothing_is_listened_on_after_those_who_came_were_counted(secret: bytes) -> None:
    leader = Meeting(step(), secret)
    with following(secret, 2):
        assert [one.hello.offer.task for one in leader.close_after(SHORT_S)] == [2]
    assert listening(secret) == []


def test_ports_follow_from_the_secret(secret: bytes) -> None:
    assert ports(secret) == ports(bytes(secret))
    assert ports(secret) != ports(secret[::-1])
    assert len(ports(secret)) == 16
    assert all(10_000 <= port < 32_000 for port in ports(secret))


def test_a_port_that_another_program_has_is_passed_over_by_both_sides(
    secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        meeting, "_HANDSHAKE_S", SHORT_S
    )  # the other program takes connections and says nothing
    with socket.create_server(("127.0.0.1", ports(secret)[0])):
        leader = Meeting(step(), secret)
        assert ("127.0.0.1", ports(secret)[1]) in listening(secret)
        with following(secret, 1, 2):
            assert sorted(leader.wait(PATIENCE_S)) == [1, 2]


def test_ports_that_are_all_taken_are_told(stack: ExitStack, secret: bytes) -> None:
    for port in ports(secret):
        stack.enter_context(socket.create_server(("127.0.0.1", port)))
    with pytest.raises(InputError, match=r"can listen on none of 16 ports of 127\.0\.0\.1: .*in use"):
        Meeting(step(), secret)


def test_tasks_that_do_not_come_are_named_with_their_nodes(secret: bytes) -> None:
    leader = Meeting(step(tasks=(2, 2)), secret)
    with following(secret, 2), pytest.raises(InputError) as told:
        leader.wait(SHORT_S)
    assert str(told.value).startswith(
        "2 of this step's 4 tasks did not join within 0.5 s: task 1 on localhost, task 3 on 127.0.0.1; "
    )
    assert listening(secret) == []


def test_of_many_that_do_not_come_the_first_are_named(secret: bytes) -> None:
    leader = Meeting(step(tasks=(20,)), secret)
    with pytest.raises(
        InputError, match=r"19 of this step's 20 tasks did not join .* task 8 on localhost \.\.\.;"
    ):
        leader.wait(0.0)


def test_a_follower_without_a_leader_says_where_it_looked(secret: bytes) -> None:
    with pytest.raises(InputError) as told:
        join(step(2, tasks=(2, 1)), secret, SHORT_S)
    assert "task 2 on 127.0.0.1 could not reach the leading task on localhost within 0.5 s" in str(told.value)
    assert "refused" in str(told.value)


def test_a_follower_pauses_before_it_tries_again(stack: ExitStack, secret: bytes) -> None:
    """A listener that knows nothing of the secret counts its attempts."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", ports(secret)[0])))
    attempts = []

    def count() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                attempts.append(connection)
                connection.close()

    with meanwhile(count):
        with pytest.raises(InputError):
            join(step(1), secret, SHORT_S)
        listener.shutdown(socket.SHUT_RDWR)  # wakes the other thread
    assert 1 <= len(attempts) <= 1 + SHORT_S / meeting._PAUSE_S


def test_an_address_leads_to_the_other_nodes(secret: bytes) -> None:
    assert own_address(step()) == "127.0.0.1"
    assert own_address(step(tasks=(1, 1))) == "127.0.0.1"


def test_a_name_without_an_address_is_told() -> None:
    with pytest.raises(OSError, match=r"the name nowhere\.invalid has no address here"):
        resolve("nowhere.invalid")
