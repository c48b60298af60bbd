"""A process that is not a task of a step can neither take part in it nor keep its tasks from meeting."""

from __future__ import annotations

import os
import resource
import secrets
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from bench.cluster import meeting
from bench.cluster.channel import GREETING, Lost, introduce
from bench.cluster.meeting import Meeting, join, ports
from bench.records.messages import Ready
from tests.unit.cluster.sockets import PATIENCE_S, connected
from tests.unit.cluster.test_meeting import SHORT_S, following, step


def noise(stranger: socket.socket) -> None:
    stranger.sendall(secrets.token_bytes(4096))


def another_greeting(stranger: socket.socket) -> None:
    stranger.sendall(GREETING + secrets.token_bytes(4096))


def half_a_handshake(stranger: socket.socket) -> None:
    stranger.sendall(secrets.token_bytes(40))
    stranger.shutdown(socket.SHUT_WR)


def goodbye(stranger: socket.socket) -> None:
    stranger.close()


STRANGERS = [noise, another_greeting, half_a_handshake, goodbye]


def test_hundreds_of_strangers_are_refused_and_change_nothing(stack: ExitStack, secret: bytes) -> None:
    leader = Meeting(step(), secret)
    for number in range(200):
        STRANGERS[number % len(STRANGERS)](call(stack, secret))
    with following(secret, 1, 2):
        all_refused(leader, 200)
        assert sorted(leader.wait(PATIENCE_S)) == [1, 2]


def test_a_follower_of_another_step_is_refused(secret: bytes) -> None:
    leader = Meeting(step(), secret)
    with connected() as (wire, honest), ThreadPoolExecutor(1) as pool:
        pool.submit(introduce, honest, bytes(32), PATIENCE_S)
        with socket.create_connection(("127.0.0.1", ports(secret)[0])) as relayed:
            wire.sendall(relayed.recv(len(GREETING) + 32, socket.MSG_WAITALL))
            relayed.sendall(wire.recv(64, socket.MSG_WAITALL))
            assert ended(relayed)
        wire.close()
    all_refused(leader, 1)
    with following(secret, 1, 2):
        assert sorted(leader.wait(PATIENCE_S)) == [1, 2]


def test_hundreds_who_say_nothing_keep_nobody_out(
    stack: ExitStack, secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meeting, "_HANDSHAKE_S", SHORT_S)
    leader = Meeting(step(), secret)
    for _ in range(300):
        call(stack, secret, wait=False)
    with following(secret, 1, 2):
        assert sorted(leader.wait(PATIENCE_S)) == [1, 2]


def test_a_byte_now_and_then_does_not_prolong_a_handshake(
    stack: ExitStack, secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meeting, "_HANDSHAKE_S", SHORT_S)
    leader = Meeting(step(), secret)
    slow = call(stack, secret)
    slow.settimeout(SHORT_S / 5)
    said = 0
    while said < 64 and not ended(slow):
        said += slow.send(b"x")
    assert said < 64
    all_refused(leader, 1)
    leader.close()


def test_a_moment_without_free_descriptors_ends_no_meeting(stack: ExitStack, secret: bytes) -> None:
    leader = Meeting(step(), secret)
    stranger = stack.enter_context(socket.socket())
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Path(os.devnull).open() as lowest_free:
        number = lowest_free.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, limits[1]))
    try:
        stranger.connect(("127.0.0.1", ports(secret)[0]))
        time.sleep(0.2)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with following(secret, 1, 2):
        assert sorted(leader.wait(PATIENCE_S)) == [1, 2]


def test_who_knows_the_secret_and_says_something_else_is_refused(secret: bytes) -> None:
    leader = Meeting(step(), secret)
    channel = join(step(1), secret, PATIENCE_S)
    channel.send(Ready())
    with pytest.raises(Lost):
        channel.receive(PATIENCE_S)
    all_refused(leader, 1)
    with following(secret, 1, 2):
        assert sorted(leader.wait(PATIENCE_S)) == [1, 2]


def all_refused(leader: Meeting, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while leader.refused < count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert leader.refused == count


def call(stack: ExitStack, secret: bytes, *, wait: bool = True) -> socket.socket:
    """A connection that knows the port and nothing else."""
    stranger = stack.enter_context(socket.socket())
    stranger.setblocking(wait)
    with suppress(BlockingIOError):
        stranger.connect(("127.0.0.1", ports(secret)[0]))
    return stranger


def ended(connection: socket.socket) -> bool:
    """Whether the other side has closed it; waits no longer than its timeout."""
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True
