"""How the agents of a step meet: the leader listens on the interface to the other nodes until all have joined.

The port is derived from the secret, so followers can find it without a file. Once every task has joined, the leader
stops listening.
"""

from __future__ import annotations

import hashlib
import random
import resource
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from bench.cluster.channel import Channel, Lost, introduce, welcome
from bench.common.errors import InputError
from bench.launch.step import Step
from bench.records.messages import Hello

_PORTS = 16
"""Number of ports that are tried in turn: another program may use the first."""
_LOWEST_PORT, _HIGHEST_PORT = 10_000, 32_000
"""Below the range that Linux gives to outgoing connections."""
_HANDSHAKE_S = 5.0
_AT_ONCE = 64
"""Most handshakes at the same time; further connections wait."""
_OTHER_FILES = 512
"""Open files that a leader needs in addition to its connections, for handshakes of strangers, among others."""
_PAUSE_S = 0.2
"""Pause before a follower tries again if the leader does not listen yet."""
_SPREAD_S = 0.002
"""Longest random addition to the pause, per task of the step: thousands of followers must not try at once."""
PATIENCE_S = 300.0
"""Longest wait for the other tasks: containers may start slowly."""


def ports(secret: bytes) -> list[int]:
    """Ports on which the leader may listen, in order of preference."""
    digest = hashlib.sha256(b"ports" + secret).digest()
    numbers = [int.from_bytes(digest[at : at + 2], "big") for at in range(0, 2 * _PORTS, 2)]
    return [_LOWEST_PORT + number % (_HIGHEST_PORT - _LOWEST_PORT) for number in numbers]


@dataclass(frozen=True, kw_only=True)
class Joined:
    """A follower that has joined."""

    channel: Channel
    hello: Hello


class Meeting:
    """The leader's side. Followers can join, in background threads, as soon as this exists."""

    def __init__(self, step: Step, secret: bytes) -> None:
        self._step = step
        self._secret = secret
        self._joined: dict[int, Joined] = {}
        self._changed = threading.Condition()
        self._handshakes = threading.Semaphore(_AT_ONCE)
        self._closed = False
        self.refused = 0
        """Number of connections that did not prove in time that they know the secret."""
        self.address = own_address(step)
        _allow_open_files(step.tasks)
        self._listener = _listen(self.address, secret, step.tasks)
        threading.Thread(target=self._accept, daemon=True).start()

    def wait(self, patience_s: float = PATIENCE_S) -> dict[int, Joined]:
        """Wait for all followers, then stop listening. Returns them by task; raises InputError if some are missing."""
        expected = set(range(1, self._step.tasks))
        with self._changed:
            self._changed.wait_for(lambda: expected <= self._joined.keys(), patience_s)
            missing = sorted(expected - self._joined.keys())
        self.close()
        if missing:
            raise InputError(
                f"{len(missing)} of this step's {self._step.tasks} tasks did not join within {patience_s:g} s: "
                f"{_named(missing, self._step)}; their own messages say why; do all nodes share the results folder?"
                + (
                    f" {self.refused} connections were refused: they did not show in time that they know this "
                    "step's secret"
                    if self.refused
                    else ""
                )
            )
        return self._joined

    def close_after(self, patience_s: float) -> list[Joined]:
        """Wait for all followers or for `patience_s`, then stop listening. Returns those that have joined."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or len(self._joined) >= self._step.tasks - 1, patience_s
            )
        self.close()
        return list(self._joined.values())

    def close(self) -> None:
        """Stop listening."""
        self._closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.1)  # for example, no file descriptor is free at the moment
                continue
            self._handshakes.acquire()
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        try:
            channel = welcome(connection, self._secret, _HANDSHAKE_S)
            hello = channel.receive(_HANDSHAKE_S)
            if not isinstance(hello, Hello):
                raise Lost("it does not say who it is")
            with self._changed:
                task = hello.offer.task
                if task in self._joined:
                    raise Lost(f"task {task} is here already")
                self._joined[task] = Joined(channel=channel, hello=hello)
                self._changed.notify()
        except OSError:
            with self._changed:
                self.refused += 1
            connection.close()
        finally:
            self._handshakes.release()


def join(step: Step, secret: bytes, patience_s: float = PATIENCE_S) -> Channel:
    """A follower's side: connect to the leader. Raises InputError if that fails for `patience_s`."""
    leader = step.node_names[0]
    deadline = time.monotonic() + patience_s
    reason = "nothing listens there"
    while time.monotonic() < deadline:
        try:
            address = "127.0.0.1" if len(step.node_names) == 1 else resolve(step.address(0))
        except OSError as error:
            reason = str(error)
        else:
            for port in ports(secret):
                try:
                    connection = socket.create_connection((address, port), timeout=_HANDSHAKE_S)
                    return introduce(connection, secret, _HANDSHAKE_S)
                except OSError as error:
                    reason = str(error)
        time.sleep(_PAUSE_S + random.uniform(0, _SPREAD_S * step.tasks))  # noqa: S311 - no secret
    raise InputError(
        f"task {step.task} on {step.node_names[step.node]} could not reach the leading task on {leader} within "
        f"{patience_s:g} s ({reason}): do all nodes share the results folder, and can they resolve each other's names?"
    )


def own_address(step: Step) -> str:
    """The leader's IP address on the interface that leads to the other nodes; loopback if there is a single node."""
    others = step.node_names[1:]
    if not others:
        return "127.0.0.1"
    if step.node != 0:
        raise InputError(
            f"the step's first task is on {step.node_names[step.node]}, not on its first node {step.node_names[0]}, "
            "where the others look for it: leave --distribution=arbitrary out"
        )
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((resolve(step.address(1)), 9))  # sends nothing: the kernel only looks up the route
            return str(probe.getsockname()[0])
    except OSError as error:
        raise InputError(
            f"no route from {step.node_names[0]} to {others[0]}: {error}; nodes must resolve each other's names"
        ) from error


def resolve(name: str) -> str:
    """IP address of a host. Raises OSError that names the host if it has none."""
    try:
        return socket.gethostbyname(name)
    except OSError as error:
        raise OSError(f"the name {name} has no address here: {error}") from error


def _allow_open_files(tasks: int) -> None:
    """Raise the soft limit of open files, often 1,024, if the connections to all tasks need more.

    Raises InputError if the hard limit is too low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = tasks + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise InputError(
            f"the leading task of {tasks} needs {wanted} open files and may have {hard}: raise the hard limit "
            "(`ulimit -Hn`) on its node, or start fewer tasks: one on each node is enough"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listen(address: str, secret: bytes, tasks: int) -> socket.socket:
    error: OSError | None = None
    for port in ports(secret):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            # room for all at once: if the queue is full, the kernel tries again only seconds later
            listener.listen(max(_AT_ONCE, tasks))
        except OSError as refused:
            listener.close()
            error = refused
            continue
        return listener
    raise InputError(f"the leading task can listen on none of {_PORTS} ports of {address}: {error}")


def _named(tasks: list[int], step: Step) -> str:
    """The first few as `task 3 on n1, task 4 on n2 ...`."""
    shown = ", ".join(f"task {task} on {step.name_of_node(task)}" for task in tasks[:8])
    return shown + (" ..." if len(tasks) > 8 else "")
