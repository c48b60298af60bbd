"""Many channels at once: which of them have news, without asking each.

Asking every one of N followers each time that one speaks would cost the leader N² of them per run, and N ten times a
second while nobody does."""

from __future__ import annotations

import select
from collections.abc import Mapping
from contextlib import suppress

from bench.launch.link.channel import Channel


class Hub:
    """Channels by task. It can be waited for itself, as long as any channel in it has something to read."""

    def __init__(self, channels: Mapping[int, Channel]) -> None:
        self._poll = select.epoll()
        self._tasks = {channel.fileno(): task for task, channel in channels.items()}
        self._descriptors = {task: descriptor for descriptor, task in self._tasks.items()}
        for descriptor in self._tasks:
            self._poll.register(descriptor, select.EPOLLIN)

    def fileno(self) -> int:
        """For multiprocessing.connection.wait."""
        return self._poll.fileno()

    def ready(self) -> list[int]:
        """Tasks whose channel has something to read, or has ended. Waits for nothing."""
        return [self._tasks[descriptor] for descriptor, _ in self._poll.poll(0)]

    def leave_out(self, task: int) -> None:
        """Its channel wakes nobody any more; before it is closed."""
        descriptor = self._descriptors.pop(task, None)
        if descriptor is not None:
            del self._tasks[descriptor]
            with suppress(OSError):  # closed already
                self._poll.unregister(descriptor)

    def close(self) -> None:
        """The channels stay open."""
        self._poll.close()
