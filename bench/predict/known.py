"""What the options say of the machine that a suite is meant for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.errors import InputError
from bench.predict.fabric import Fabric, by_hand
from bench.predict.prediction import Machine
from bench.predict.request import memory_of
from bench.suite.memory_size import memory_size

_WITH_BUS = ("latency_us", "inter_bus_gbps", "inter_latency_us")


def machine(options: Mapping[str, Any]) -> Machine:
    """Raises InputError where an option makes no sense."""
    tflops = options["tflops"]
    gbps = options["bus_gbps"]
    for name in _WITH_BUS:
        if gbps is None and options[name] is not None:
            raise InputError(
                f"--{name.replace('_', '-')}: only with --bus-gbps, the bus bandwidth within a node"
            )
    fabrics = (
        {} if gbps is None else {kind: _given(options, trees=kind == "cuda") for kind in ("cpu", "cuda")}
    )
    return Machine(
        fabric=lambda spec: fabrics.get(spec.device_type),
        flops_per_s=lambda _: None if tflops is None else tflops * 1e12,
        memory_bytes=memory_of(_memory(options["memory"])),
    )


def _given(options: Mapping[str, Any], *, trees: bool) -> Fabric:
    return by_hand(
        gbps=options["bus_gbps"],
        latency_us=options["latency_us"] or 0.0,
        inter_gbps=options["inter_bus_gbps"],
        inter_latency_us=options["inter_latency_us"],
        trees=trees,
    )


def _memory(text: str | None) -> int | None:
    size = None if text is None else memory_size(text)
    if text is not None and not size:
        raise InputError(f"--memory {text}: give a size as in 80GiB or 500MB")
    return size
