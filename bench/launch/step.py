"""A step: the tasks that one call of a launcher has started together, and this process's place among them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Share:
    """One part of something that several tasks of a node split."""

    index: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step, and this process's task in it. Every launcher's reader returns one."""

    launcher: str
    """Name of the program that started the tasks."""
    key: str
    """Unique name of the step; usable as a file name."""
    node_names: tuple[str, ...]
    """Names of the nodes; the first task of the first node leads."""
    addresses: tuple[str, ...] = ()
    """Name or IP address at which the other nodes reach each node; empty: its name."""
    tasks_per_node: tuple[int, ...]
    task: int
    """Index of this task in the step."""
    local_task: int
    """Index of this task on its node."""
    node: int
    """Index of this task's node in node_names."""
    node_of_task: tuple[int, ...] = ()
    """Index of each task's node; empty: node after node."""
    cpu_share: Share | None = None
    """This task's part of the CPUs that it may use; null: unknown."""
    gpu_share: Share | None = None
    """This task's part of the GPUs that it sees; null: unknown."""
    cpus_of_node: frozenset[int] = frozenset()
    """CPUs that the tasks of this node may use; empty: unknown."""

    @property
    def tasks(self) -> int:
        return sum(self.tasks_per_node)

    def address(self, node: int) -> str:
        """Name or IP address at which other nodes reach this one."""
        return (self.addresses or self.node_names)[node]

    def name_of_node(self, task: int) -> str:
        """Name of a task's node."""
        in_turn = [node for node, count in enumerate(self.tasks_per_node) for _ in range(count)]
        return self.node_names[(self.node_of_task or in_turn)[task]]
