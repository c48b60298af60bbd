"""Collectives in a profile, and their bytes, from the events of gloo and NCCL.

`message_bytes` counts as nccl-tests does: the larger of a rank's input and output buffer (an all-gather's output, a
reduce-scatter's input). gloo carries out a reduce-scatter as an all-reduce, and its events say so; here it has the name
of the request. Messages of a single number or of integers are `control`: a scaler's overflow, or a map of used
parameters.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

CONTROL = "control"
_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2,
    "int": 4, "long": 8, "short": 2, "char": 1, "byte": 1, "bool": 1,
}  # fmt: skip
"""By torch's names of types, without C++ namespaces."""
_CXX = {"long int": "long", "signed char": "char", "unsigned char": "byte", "short int": "short"}
_FLOATING = ("float", "double", "half", "bfloat16")
_OPS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "alltoall": "all_to_all",
    "barrier": "barrier",
    "send": "send",
    "recv": "recv",
}
_OTHER_WORDS = re.compile(r"_|base|coalesced|into|tensor|single|v$")


@dataclass(frozen=True, kw_only=True)
class Collective:
    """One collective of one rank, from its begin to its end on this rank."""

    op: str
    begin_ns: int
    end_ns: int
    message_bytes: int | None
    """Null if unknown."""
    calls: int = 1
    """0: continues the call of an earlier kernel, which has all of the call's bytes."""
    group: str | None = None
    """torch's name of the process group; null if the event does not tell it, as gloo's do."""


@dataclass(frozen=True, kw_only=True)
class GroupEvent:
    """An event of a process group: `c10d::_allgather_base_` for a request, `gloo:all_gather` for its execution."""

    name: str
    begin_ns: int
    end_ns: int
    elements: tuple[int, ...]
    """Elements of each tensor of the event, in its order."""
    dtype: str


@dataclass(frozen=True, kw_only=True)
class RequestedMessage:
    """A message that a rank asked a process group for."""

    op: str
    message_bytes: int
    group: str
    """torch's name of the process group."""


@dataclass(frozen=True, kw_only=True)
class NcclKernel:
    """A kernel of NCCL on the device."""

    name: str
    begin_ns: int
    end_ns: int
    call_id: int
    """Id of the call that started the kernel; the call itself may be unknown."""


def of_gloo(messages: Iterable[GroupEvent], ranks: int) -> list[Collective]:
    """gloo's operations, each with the name and bytes of its request.

    `ranks`: the number of ranks from which parameters are gathered; a request with a list of outputs lacks it."""
    in_order = sorted(messages, key=lambda message: message.begin_ns)
    requests = _Requests([message for message in in_order if message.name.startswith("c10d::")])
    found = []
    for message in in_order:
        if not message.name.startswith("gloo:"):
            continue
        request = requests.request_of(message)
        if request is not None:
            op, elements = request
        else:
            op, elements = op_of(message.name.removeprefix("gloo:")), sum(message.elements)
            elements *= ranks if op == "all_gather" else 1
        found.append(
            Collective(
                op=_op_or_control(op, elements, message.dtype),
                begin_ns=message.begin_ns,
                end_ns=message.end_ns,
                message_bytes=bytes_of(elements, message.dtype),
            )
        )
    return found


def with_groups(collectives: Iterable[Collective], sent: Sequence[RequestedMessage]) -> list[Collective]:
    """The collectives of a step in order of their begin, each with its group. gloo's events do not tell it: a
    collective without one belongs to the earliest message of the same kind and size that is left of `sent`, or of a
    reduce-scatter, which gloo carries out as an all-reduce."""
    left: dict[tuple[str, int | None], deque[str]] = {}
    for message in sent:
        left.setdefault((message.op, message.message_bytes), deque()).append(message.group)
    found = []
    for each in sorted(collectives, key=lambda each: each.begin_ns):
        for op in (each.op, "reduce_scatter") if each.op == "all_reduce" else (each.op,):
            groups = left.get((op, each.message_bytes))
            if each.group is None and groups:
                found.append(replace(each, op=op, group=groups.popleft()))
                break
        else:
            found.append(each)
    return found


class _Requests:
    """Requests with known sizes: all-gathers with one output and reduce-scatters with one input."""

    def __init__(self, requests: Sequence[GroupEvent]) -> None:
        self._waiting: dict[tuple[str, int], deque[GroupEvent]] = {}
        for message in requests:
            op = op_of(message.name.removeprefix("c10d::"))
            if op in ("all_gather", "reduce_scatter") and len(message.elements) == 2:
                self._waiting.setdefault((op, message.elements[1]), deque()).append(message)

    def request_of(self, executed: GroupEvent) -> tuple[str, int] | None:
        """Operation and elements of the earliest matching request; gloo keeps the requests' order."""
        op, elements = op_of(executed.name.removeprefix("gloo:")), sum(executed.elements)
        for requested in (op, "reduce_scatter") if op == "all_reduce" else (op,):
            waiting = self._waiting.get((requested, elements))
            if waiting and waiting[0].begin_ns <= executed.begin_ns:
                return requested, max(waiting.popleft().elements)
        return None


def of_nccl(kernels: Iterable[NcclKernel], calls: Mapping[int, Mapping[str, str]]) -> Iterator[Collective]:
    """`calls`: torch's `record_param_comms` metadata by call id. If a call has several kernels, the first has its
    bytes."""
    begun: set[int] = set()
    for kernel in sorted(kernels, key=lambda kernel: kernel.begin_ns):
        call = calls.get(kernel.call_id)
        op, message_bytes = (op_of(_op_in(kernel.name)), None) if not call else _of_call(call, kernel.name)
        again = call is not None and kernel.call_id in begun
        begun.add(kernel.call_id)
        yield Collective(
            op=op,
            begin_ns=kernel.begin_ns,
            end_ns=kernel.end_ns,
            message_bytes=0 if again else message_bytes,
            calls=0 if again else 1,
            group=None if call is None else call.get("Process Group Name", "").strip('"') or None,
        )


def _of_call(call: Mapping[str, str], kernel: str) -> tuple[str, int | None]:
    """Operation and bytes from torch's `record_param_comms`, which quotes texts."""
    fields = {key: value.strip('"') for key, value in call.items()}
    elements = max(int(fields.get(key, 0)) for key in ("In msg nelems", "Out msg nelems"))
    dtype = fields.get("dtype", "")
    op = op_of(fields.get("Collective name") or _op_in(kernel))
    return _op_or_control(op, elements, dtype), bytes_of(elements, dtype)


def op_of(name: str) -> str:
    """`_allgather_base_`, `all_gather`, `AllGather` -> `all_gather`; an unknown name is unchanged."""
    return _OPS.get(_OTHER_WORDS.sub("", name.lower()), name)


def bytes_of(elements: int, dtype: str) -> int | None:
    size = _BYTES.get(_torch_dtype(dtype))
    return 0 if elements == 0 else None if size is None else elements * size


def _op_or_control(op: str, elements: int, dtype: str) -> str:
    return CONTROL if elements == 1 or (elements and _torch_dtype(dtype) not in _FLOATING) else op


def _torch_dtype(dtype: str) -> str:
    """`c10::BFloat16`, `BFloat16` -> `bfloat16`."""
    return _CXX.get(dtype, dtype.removeprefix("c10::").lower())


def _op_in(kernel: str) -> str:
    """`ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)`, and `ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_bf16(...)` of
    symmetric memory -> `AllReduce`."""
    found = re.match(r"nccl(?:Symk?)?(?:Dev)?Kernel_(\w+?)_", kernel)
    return found[1] if found else kernel[:32]
