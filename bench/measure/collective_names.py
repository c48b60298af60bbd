"""Which collectives there were, and how many bytes each moved, from what gloo and NCCL leave in a profile.

`message_bytes` is counted as nccl-tests does: the larger of a rank's input and output buffer (an all-gather's output,
a reduce-scatter's input). gloo makes a reduce-scatter of an all-reduce, and says so; here it is what was asked for.
Single numbers and integers, which are a scaler's overflow or a map of used parameters, are `control`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

CONTROL = "control"
_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2,
    "int": 4, "long": 8, "short": 2, "char": 1, "byte": 1, "bool": 1,
}  # fmt: skip
"""By torch's own names of types, without the C++ around them."""
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
}
_OTHER_WORDS = re.compile(r"_|base|coalesced|into|tensor|single|v$")


@dataclass(frozen=True, kw_only=True)
class Collective:
    """One collective of one rank, from its begin on this rank to its end."""

    op: str
    begin_ns: int
    end_ns: int
    message_bytes: int | None
    """Null where it is not known."""
    calls: int = 1
    """0: goes on with what an earlier kernel began, whose bytes are all of its call's."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """What a process group's own event says: `c10d::_allgather_base_` when it is asked for, `gloo:all_gather` when it
    is carried out."""

    name: str
    begin_ns: int
    end_ns: int
    elements: tuple[int, ...]
    """Of each tensor that the event names, in its order."""
    dtype: str


@dataclass(frozen=True, kw_only=True)
class NcclKernel:
    """A kernel of NCCL on the device."""

    name: str
    begin_ns: int
    end_ns: int
    call_id: int
    """Of the call it came from, which nothing need be known of."""


def of_gloo(messages: Iterable[Message], ranks: int) -> list[Collective]:
    """What gloo carried out, under the name by which it was asked for, with the bytes of that request. `ranks`: over
    how many parameters are gathered, which a request with a list of outputs does not say."""
    in_order = sorted(messages, key=lambda message: message.begin_ns)
    asked = [message for message in in_order if message.name.startswith("c10d::")]
    requests = _Requests(asked)
    return [_collective(message, requests, ranks) for message in in_order if message.name.startswith("gloo:")]


class _Requests:
    """What was asked for and whose sizes are known: an all-gather's output and a reduce-scatter's input are whole."""

    def __init__(self, asked: Sequence[Message]) -> None:
        self._waiting: dict[tuple[str, int], deque[Message]] = {}
        for message in asked:
            op = op_of(message.name.removeprefix("c10d::"))
            if op in ("all_gather", "reduce_scatter") and len(message.elements) == 2:
                self._waiting.setdefault((op, message.elements[1]), deque()).append(message)

    def behind(self, carried_out: Message) -> tuple[str, int] | None:
        """The operation and its elements, of the earliest request that this can be: gloo keeps their order."""
        op, elements = op_of(carried_out.name.removeprefix("gloo:")), sum(carried_out.elements)
        for asked in (op, "reduce_scatter") if op == "all_reduce" else (op,):
            waiting = self._waiting.get((asked, elements))
            if waiting and waiting[0].begin_ns <= carried_out.begin_ns:
                return asked, max(waiting.popleft().elements)
        return None


def _collective(message: Message, requests: _Requests, ranks: int) -> Collective:
    op, elements = requests.behind(message) or _as_carried_out(message, ranks)
    return Collective(
        op=_told_apart(op, elements, message.dtype),
        begin_ns=message.begin_ns,
        end_ns=message.end_ns,
        message_bytes=bytes_of(elements, message.dtype),
    )


def _as_carried_out(message: Message, ranks: int) -> tuple[str, int]:
    op, elements = op_of(message.name.removeprefix("gloo:")), sum(message.elements)
    return op, elements * ranks if op == "all_gather" else elements


def of_nccl(kernels: Iterable[NcclKernel], calls: Mapping[int, Mapping[str, str]]) -> Iterator[Collective]:
    """`calls`: what torch said of each, by its id. Of several kernels of one call the first has its bytes."""
    begun: set[int] = set()
    for kernel in sorted(kernels, key=lambda kernel: kernel.begin_ns):
        call = calls.get(kernel.call_id)
        op, message_bytes = (op_of(_named_in(kernel.name)), None) if not call else _asked(call, kernel.name)
        again = call is not None and kernel.call_id in begun
        begun.add(kernel.call_id)
        yield Collective(
            op=op,
            begin_ns=kernel.begin_ns,
            end_ns=kernel.end_ns,
            message_bytes=0 if again else message_bytes,
            calls=0 if again else 1,
        )


def _asked(call: Mapping[str, str], kernel: str) -> tuple[str, int | None]:
    """The operation and its bytes by torch's `record_param_comms`, which puts texts in quotation marks."""
    said = {key: value.strip('"') for key, value in call.items()}
    elements = max(int(said.get(key, 0)) for key in ("In msg nelems", "Out msg nelems"))
    dtype = said.get("dtype", "")
    op = op_of(said.get("Collective name") or _named_in(kernel))
    return _told_apart(op, elements, dtype), bytes_of(elements, dtype)


def op_of(name: str) -> str:
    """`_allgather_base_`, `all_gather`, `AllGather` -> `all_gather`; a name that is none of these stays as it is."""
    return _OPS.get(_OTHER_WORDS.sub("", name.lower()), name)


def bytes_of(elements: int, dtype: str) -> int | None:
    size = _BYTES.get(_plain(dtype))
    return 0 if elements == 0 else None if size is None else elements * size


def _told_apart(op: str, elements: int, dtype: str) -> str:
    return CONTROL if elements == 1 or (elements and _plain(dtype) not in _FLOATING) else op


def _plain(dtype: str) -> str:
    """`c10::BFloat16`, `BFloat16` -> `bfloat16`."""
    return _CXX.get(dtype, dtype.removeprefix("c10::").lower())


def _named_in(kernel: str) -> str:
    """`ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)` -> `AllReduce`."""
    found = re.match(r"nccl(?:Dev)?Kernel_(\w+?)_", kernel)
    return found[1] if found else kernel[:32]
