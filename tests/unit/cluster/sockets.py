"""Real TCP connections on loopback, and channels over them."""

from __future__ import annotations

import hmac
import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

from bench.cluster.channel import Channel, introduce, welcome
from bench.records.messages import Message

KEY = b"k" * 32
SECRET = b"s" * 32
PATIENCE_S = 20.0
"""Limit for events that come at once, even on a busy machine."""


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    with one, other:
        for end in (one, other):
            end.settimeout(PATIENCE_S)
        yield one, other


@contextmanager
def channels() -> Iterator[tuple[Channel, Channel]]:
    """Channels of a leader and its follower, past their handshake."""
    with connected() as (one, other), ThreadPoolExecutor(1) as pool:
        leading = pool.submit(welcome, one, SECRET, PATIENCE_S)
        following = introduce(other, SECRET, PATIENCE_S)
        yield leading.result(), following


@contextmanager
def reading() -> Iterator[tuple[socket.socket, Channel]]:
    """A follower's channel, and the socket on which the test plays the leader."""
    with connected() as (one, other), closing(Channel(other, KEY, leads=False)) as reader:
        yield one, reader


def framed(content: bytes) -> bytes:
    """A leader's first frame, with this content."""
    digest = hmac.digest(hmac.digest(KEY, b"leader", "sha256"), struct.pack("!Q", 0) + content, "sha256")
    return struct.pack("!I", len(content)) + digest + content


def frames(*messages: Message, key: bytes = KEY, leads: bool = True) -> list[bytes]:
    """Frames that a channel sends for each message, in order."""
    found = []
    with connected() as (one, other):
        writer = Channel(one, key, leads=leads)
        for message in messages:
            writer.send(message)
            found.append(other.recv(1 << 16))
    return found


@contextmanager
def meanwhile(call: Callable[..., Any], *arguments: Any) -> Iterator[Future[Any]]:
    """Within `with`, the call runs in another thread; afterwards it is over."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(call, *arguments)
