"""Who may talk to an agent; no third party can change, repeat or leave out a word."""

from __future__ import annotations

import secrets
import socket
import struct
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.cluster.channel import GREETING, Channel, Lost, introduce, welcome
from bench.records.messages import (
    AskProgress,
    Begin,
    End,
    Fault,
    Gpu,
    Hello,
    HostRun,
    Leave,
    Message,
    Place,
    Progress,
    Ready,
    Report,
    Started,
    Unusable,
    Watch,
)
from bench.records.run_spec import FindSpec, MeasureSpec
from tests.unit.agent.test_placement import offer
from tests.unit.cluster.sockets import (
    PATIENCE_S,
    SECRET,
    channels,
    connected,
    framed,
    frames,
    meanwhile,
    reading,
)
from tests.unit.session.test_session import run_spec

FIRST, SECOND, THIRD = Started(pids=[1]), Started(pids=[2]), Started(pids=[3])
FRAME = frames(FIRST)[0]


def all_of(reader: Channel) -> list[Message]:
    """Every message until the end, which must have come."""
    found = []
    try:
        while True:
            found.append(reader.receive(PATIENCE_S))
    except Lost:
        return found


def delivered(sent: bytes) -> list[Message]:
    """Messages that a follower accepts from these bytes, after which the connection ends."""
    with reading() as (wire, reader):
        wire.sendall(sent)
        wire.shutdown(socket.SHUT_WR)
        return all_of(reader)


def test_both_sides_say_and_hear_everything_in_order() -> None:
    with channels() as (leader, follower):
        answers = [Unusable(reason="µ"), THIRD]
        for message, answer in zip((FIRST, SECOND), answers, strict=True):
            leader.send(message)
            follower.send(answer)
        assert [follower.receive(PATIENCE_S) for _ in "12"] == [FIRST, SECOND]
        assert [leader.receive(PATIENCE_S) for _ in "12"] == answers
        assert leader.poll() is None


RUN = run_spec(
    nodes=2,
    find_batch=FindSpec(largest=64),
    measure=MeasureSpec(steps=3, timeout_s=0.5),
    strategy_options={"bucket_cap_mb": 25, "first": None},
)
FAULT = Fault(status="oom", error="µ", rank=0, node=None)
GPU = Gpu(index=1, uuid="MIG-b", sliced_gpu="GPU-0", cpus=[0, 1])
EVERY = [
    Hello(offer=offer(gpus=[GPU], fixed=True), facts={"hostname": "n1"}),
    Ready(),
    Unusable(reason="no torch"),
    FIRST,
    FAULT,
    Progress(node=1, rows={2: 5, 3: 0}, stopped=[3], busy={2: "x.py:3"}),
    Report(
        fault=FAULT, rank_facts={"parameters": 5, "flops": None}, rows={0: 3}, setup_s=0.5, finalised=False
    ),
    Begin(loads_torch=True, uses_gpus=True),
    HostRun(
        run=RUN.to_json(),
        places=[Place(rank=1, local_rank=0, cpus=[0, 1], gpu=GPU, sampled_as=None)],
        shares_gpus=False,
        rendezvous="file:///x",
        folder="/r",
    ),
    Watch(task=2, pids=[7]),
    AskProgress(),
    End(fault=FAULT),
    Leave(),
]


def test_every_message_arrives_as_it_was_said() -> None:
    assert {type(message) for message in EVERY} == {*get_args(Message)}
    with channels() as (leader, follower):
        for message in EVERY:
            leader.send(message)
        assert [follower.receive(PATIENCE_S) for _ in EVERY] == EVERY


@pytest.mark.parametrize(
    "said", [b"{}", b"[]", b"1", b"{", b'{"kind": "run"}', b'{"kind": "started", "pids": ["x"]}', b"\xff"]
)
def test_what_is_no_message_ends_the_connection(said: bytes) -> None:
    with reading() as (wire, reader):
        wire.sendall(framed(said))
        with pytest.raises(Lost, match="it sent an unknown message"):
            reader.receive(PATIENCE_S)


def test_a_message_larger_than_every_buffer_arrives_whole() -> None:
    large = Unusable(reason="x" * (8 << 20))
    with channels() as (leader, follower), meanwhile(leader.send, large) as sending:
        assert follower.receive(PATIENCE_S) == large
        sending.result()


def test_a_follower_without_the_secret_is_refused_on_both_sides() -> None:
    with connected() as (one, other), meanwhile(introduce, other, b"guess", PATIENCE_S) as following:
        with pytest.raises(Lost, match="it does not know this step's secret"):
            welcome(one, SECRET, PATIENCE_S)
        one.close()
        with pytest.raises(Lost):
            following.result()


@pytest.mark.parametrize("kind", ["noise", "echo"])
def test_a_leader_without_the_secret_is_refused(kind: str) -> None:
    with connected() as (one, other), meanwhile(introduce, other, SECRET, PATIENCE_S) as following:
        one.sendall(GREETING + secrets.token_bytes(32))
        answer = one.recv(64, socket.MSG_WAITALL)
        one.sendall(secrets.token_bytes(32) if kind == "noise" else answer[32:])
        with pytest.raises(Lost, match="it does not know this step's secret"):
            following.result()


def test_another_service_is_no_leader() -> None:
    with connected() as (one, other):
        one.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
        with pytest.raises(Lost, match="it is not a leader of agents"):
            introduce(other, SECRET, PATIENCE_S)


@pytest.mark.parametrize("said", [b"", GREETING[:5], GREETING + b"half a nonce"])
def test_a_leader_that_leaves_during_the_handshake_is_lost(said: bytes) -> None:
    with connected() as (one, other):
        one.sendall(said)
        one.close()
        with pytest.raises(Lost, match="the connection was closed"):
            introduce(other, SECRET, PATIENCE_S)


def test_a_recorded_handshake_opens_nothing_a_second_time() -> None:
    with connected() as (one, other), meanwhile(welcome, one, SECRET, PATIENCE_S):
        greeting = other.recv(len(GREETING) + 32, socket.MSG_WAITALL)
        other.close()
    with connected() as (wire, honest), meanwhile(introduce, honest, SECRET, PATIENCE_S):
        wire.sendall(greeting)
        proof = wire.recv(64, socket.MSG_WAITALL)
        wire.close()
    with connected() as (one, other), meanwhile(welcome, one, SECRET, PATIENCE_S) as leading:
        other.recv(len(GREETING) + 32, socket.MSG_WAITALL)
        other.sendall(proof)
        with pytest.raises(Lost, match="it does not know this step's secret"):
            leading.result()


def test_frames_as_they_were_sent_are_delivered() -> None:
    assert delivered(b"".join(frames(FIRST, SECOND, THIRD))) == [FIRST, SECOND, THIRD]


def test_a_frame_in_pieces_is_delivered_once_it_is_whole() -> None:
    (frame,) = frames(FIRST)
    with reading() as (wire, reader):
        for at in range(len(frame) - 1):
            wire.sendall(frame[at : at + 1])
            assert reader.poll() is None
        wire.sendall(frame[-1:])
        assert reader.receive(PATIENCE_S) == FIRST


@settings(max_examples=100, deadline=None)
@given(at=st.integers(0, 200), mask=st.integers(1, 255))
def test_a_changed_frame_is_never_delivered(at: int, mask: int) -> None:
    frame = bytearray(FRAME)
    frame[at % len(frame)] ^= mask
    assert delivered(bytes(frame)) == []


@settings(max_examples=100, deadline=None)
@given(noise=st.binary(max_size=300))
def test_noise_is_never_delivered(noise: bytes) -> None:
    assert delivered(noise) == []
    assert delivered(struct.pack("!I", max(0, len(noise) - 32)) + noise) == []


@pytest.mark.parametrize("order", [[0, 0], [1], [0, 2], [0, 2, 1], [1, 0]])
def test_nothing_is_delivered_from_where_frames_are_repeated_left_out_or_out_of_order(
    order: list[int],
) -> None:
    messages = [FIRST, SECOND, THIRD]
    sent = frames(*messages)
    right = next(place for place, number in enumerate(order) if place != number)
    assert delivered(b"".join(sent[number] for number in order)) == messages[:right]


def test_a_frame_sent_back_to_its_sender_is_refused() -> None:
    assert delivered(frames(FIRST, leads=False)[0]) == []


def test_a_frame_of_another_connection_is_refused() -> None:
    assert delivered(frames(FIRST, key=bytes(32))[0]) == []


def test_a_connection_with_a_changed_frame_stays_lost() -> None:
    first, second = frames(FIRST, SECOND)
    with reading() as (wire, reader):
        wire.sendall(b"\0" * 36 + first + second)
        assert all_of(reader) == []
        with pytest.raises(Lost):
            reader.receive(PATIENCE_S)


def test_an_oversized_frame_is_refused_before_its_content_comes() -> None:
    with reading() as (wire, reader):
        wire.sendall(struct.pack("!I", 1 << 30) + bytes(32))
        with pytest.raises(Lost, match="a message of 1073741824 bytes: 16777216 at most"):
            reader.receive(PATIENCE_S)


def test_what_came_before_the_end_is_delivered_before_the_end_is_told() -> None:
    with channels() as (leader, follower):
        leader.send(FIRST)
        leader.send(SECOND)
        leader.close()
        assert [follower.receive(PATIENCE_S) for _ in "12"] == [FIRST, SECOND]
        for _ in "12":
            with pytest.raises(Lost, match="the connection was closed"):
                follower.receive(PATIENCE_S)


def test_a_silent_peer_is_lost_when_its_time_is_over() -> None:
    with channels() as (leader, _), pytest.raises(Lost, match=r"it said nothing for 0\.05 s"):
        leader.receive(0.05)


def test_nobody_takes_what_is_sent_to_a_closed_connection() -> None:
    with channels() as (leader, follower):
        follower.close()
        with pytest.raises(Lost):
            send_for_ever(leader)


def send_for_ever(channel: Channel) -> None:
    while True:
        channel.send(FIRST)


def test_a_channel_knows_the_address_on_its_side() -> None:
    with channels() as (leader, follower):
        assert (leader.own_address, follower.own_address) == ("127.0.0.1", "127.0.0.1")
