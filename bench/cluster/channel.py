"""Messages between two agents (bench/records/messages.py): JSON over TCP, signed with a key of each connection.

A frame is the content's length (4 bytes), an HMAC-SHA256 over the frame's number and content, and the content. Without
the step's secret it is impossible to connect; a message that is changed, repeated or left out is noticed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from multiprocessing.connection import wait
from typing import Annotated

from pydantic import Field, TypeAdapter

from bench.records.messages import Message

_LENGTH = struct.Struct("!I")
_NUMBER = struct.Struct("!Q")
_DIGEST_BYTES = 32
_NONCE_BYTES = 32
_LARGEST_BYTES = 1 << 24
"""Longest message. The largest messages hold a node's facts or the outcomes of its ranks."""
_SEND_S = 20.0
"""An agent that accepts no message for this long counts as gone."""
GREETING = b"scalebench agents 2\n"
"""First bytes from a leader, which distinguish it from other services on the port."""


class Lost(ConnectionError):  # noqa: N818 - reads well as `raise Lost`
    """The other side is gone, or is not the agent it should be."""


class Channel:
    """One authenticated connection."""

    def __init__(self, connection: socket.socket, key: bytes, *, leads: bool) -> None:
        self._socket = connection
        self._socket.settimeout(_SEND_S)
        _detect_dead_peer(connection)
        ours, theirs = (b"leader", b"follower") if leads else (b"follower", b"leader")
        self._send_key, self._receive_key = _mac(key, ours), _mac(key, theirs)
        self._sent = self._received = 0
        self._buffer = bytearray()
        self._messages: deque[Message] = deque()
        self._end: str | None = None
        """Why no more messages can be read; null while they can."""

    @property
    def own_address(self) -> str:
        """IP address of the interface on this side."""
        return str(self._socket.getsockname()[0])

    def fileno(self) -> int:
        """For select and multiprocessing.connection.wait."""
        return self._socket.fileno()

    def send(self, message: Message) -> None:
        """Raises Lost if the other side does not accept it."""
        content = json.dumps(asdict(message)).encode()
        digest = _mac(self._send_key, _NUMBER.pack(self._sent) + content)
        self._sent += 1
        try:
            self._socket.sendall(_LENGTH.pack(len(content)) + digest + content)
        except OSError as error:
            raise Lost(str(error)) from error

    def poll(self) -> Message | None:
        """The next message; null if none has arrived. Raises Lost after the last message of an ended connection."""
        if not self._messages and self._end is None:
            self._read_all()
        if self._messages:
            return self._messages.popleft()
        if self._end is not None:
            raise Lost(self._end)
        return None

    def receive(self, patience_s: float) -> Message:
        """Wait for the next message. Raises Lost if none arrives within `patience_s`."""
        deadline = time.monotonic() + patience_s
        while (message := self.poll()) is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise Lost(f"it said nothing for {patience_s:g} s")
            wait([self._socket], left_s)  # select takes no descriptor above 1023
        return message

    def close(self) -> None:
        self._socket.close()

    def _read_all(self) -> None:
        """Take every message that has arrived; if the connection has ended, note that after the last one."""
        try:
            ended = self._fill_buffer()
            while (message := self._take_message()) is not None:
                self._messages.append(message)
            if ended:
                raise Lost("the connection was closed")
        except Lost as error:
            self._end = str(error)

    def _fill_buffer(self) -> bool:
        """Read the bytes that have arrived. Returns whether the connection has ended."""
        self._socket.setblocking(False)
        try:
            while chunk := self._socket.recv(1 << 16):
                self._buffer += chunk
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._socket.settimeout(_SEND_S)
        return True

    def _take_message(self) -> Message | None:
        """The next whole message of the buffer; null if it holds none."""
        head = _LENGTH.size + _DIGEST_BYTES
        if len(self._buffer) < head:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > _LARGEST_BYTES:
            raise Lost(f"a message of {length} bytes: {_LARGEST_BYTES} at most")
        if len(self._buffer) < head + length:
            return None
        digest, content = bytes(self._buffer[_LENGTH.size : head]), bytes(self._buffer[head : head + length])
        del self._buffer[: head + length]
        if not hmac.compare_digest(digest, _mac(self._receive_key, _NUMBER.pack(self._received) + content)):
            raise Lost("a message was not signed with this step's secret")
        self._received += 1
        try:
            return _adapter().validate_python(json.loads(content))
        except ValueError as error:
            raise Lost("it sent an unknown message; do all nodes have the same scalebench?") from error


@cache
def _adapter() -> TypeAdapter[Message]:
    """Built on the first message: a lone agent does not need it."""
    return TypeAdapter(Annotated[Message, Field(discriminator="kind")])


def welcome(connection: socket.socket, secret: bytes, patience_s: float) -> Channel:
    """The leader's side of a new connection. Raises Lost if the other side does not know the secret."""
    deadline = time.monotonic() + patience_s
    nonce = secrets.token_bytes(_NONCE_BYTES)
    try:
        connection.sendall(GREETING + nonce)
        theirs = _exactly(connection, _NONCE_BYTES + _DIGEST_BYTES, deadline)
        their_nonce, proof = theirs[:_NONCE_BYTES], theirs[_NONCE_BYTES:]
        if not hmac.compare_digest(proof, _mac(secret, b"follower" + nonce + their_nonce)):
            raise Lost("it does not know this step's secret")
        connection.sendall(_mac(secret, b"leader" + their_nonce + nonce))
    except OSError as error:
        raise Lost(str(error)) from error
    return Channel(connection, _mac(secret, b"key" + nonce + their_nonce), leads=True)


def introduce(connection: socket.socket, secret: bytes, patience_s: float) -> Channel:
    """A follower's side of a new connection. Raises Lost if the other side is not the step's leader."""
    deadline = time.monotonic() + patience_s
    nonce = secrets.token_bytes(_NONCE_BYTES)
    try:
        if _exactly(connection, len(GREETING), deadline) != GREETING:
            raise Lost("it is not a leader of agents")
        their_nonce = _exactly(connection, _NONCE_BYTES, deadline)
        connection.sendall(nonce + _mac(secret, b"follower" + their_nonce + nonce))
        proof = _exactly(connection, _DIGEST_BYTES, deadline)
        if not hmac.compare_digest(proof, _mac(secret, b"leader" + nonce + their_nonce)):
            raise Lost("it does not know this step's secret")
    except OSError as error:
        raise Lost(str(error)) from error
    return Channel(connection, _mac(secret, b"key" + their_nonce + nonce), leads=False)


def _exactly(connection: socket.socket, count: int, deadline: float) -> bytes:
    """Read exactly `count` bytes. Raises OSError at the deadline, even if bytes are still trickling in."""
    found = b""
    while len(found) < count:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        chunk = connection.recv(count - len(found))
        if not chunk:
            raise Lost("the connection was closed")
        found += chunk
    return found


def _mac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, hashlib.sha256)


def _detect_dead_peer(connection: socket.socket) -> None:
    """End the connection after about 8 s of unanswered probes: a node without power does not close it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 4)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 8000)


class Hub:
    """Finds the channels that have something to read, without polling each.

    Polling all N followers whenever one of them sends would cost the leader N² polls per run, and N polls ten times a
    second while all are silent. A hub can itself be waited for: it is readable while any of its channels is."""

    def __init__(self, channels: Mapping[int, Channel]) -> None:
        """`channels` by task."""
        self._poll = select.epoll()
        self._tasks = {channel.fileno(): task for task, channel in channels.items()}
        self._descriptors = {task: descriptor for descriptor, task in self._tasks.items()}
        for descriptor in self._tasks:
            self._poll.register(descriptor, select.EPOLLIN)

    def fileno(self) -> int:
        """For multiprocessing.connection.wait."""
        return self._poll.fileno()

    def ready(self) -> list[int]:
        """Tasks whose channel has something to read, or has ended. Does not wait."""
        return [self._tasks[descriptor] for descriptor, _ in self._poll.poll(0)]

    def leave_out(self, task: int) -> None:
        """Stop watching a task's channel. Call this before the channel is closed."""
        descriptor = self._descriptors.pop(task, None)
        if descriptor is not None:
            del self._tasks[descriptor]
            with suppress(OSError):  # closed already
                self._poll.unregister(descriptor)

    def close(self) -> None:
        """Close the hub; the channels stay open."""
        self._poll.close()
