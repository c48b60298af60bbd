"""FLOPs of an optimizer step, counted once for each thing that is trained, before its first run; on the leader."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from typing import Any

from bench.launch.stop import StopRequest
from bench.launch.warm import EndedError, ServerGoneError, WarmServer
from bench.records.run_spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class Flops:
    """Of one run."""

    per_step: float | None
    """Of one optimizer step over all ranks."""
    note: str | None = None
    """Why they could not be counted."""


class FlopsCounter:
    """Remembers what it has counted. bench/train/flops.py says what that is."""

    def __init__(self, server: WarmServer, stop: StopRequest) -> None:
        self._server = server
        self._stop = stop
        self._known: dict[str, dict[str, Any]] = {}
        """What the counting process said, by what is trained, or by that and the micro-batch."""

    def is_known(self, spec: RunSpec) -> bool:
        """Whether `of` answers at once."""
        return any(key in self._known for key in _keys(spec))

    def of(self, spec: RunSpec) -> Flops:
        """Counts where it is not known yet, which takes seconds. Whatever goes wrong is a note, never an error."""
        if not self.is_known(spec):
            said = self._ask(spec)
            of_any_batch, of_this_batch = _keys(spec)
            self._known[of_this_batch if "per_micro_batch" in said else of_any_batch] = said
        said = next(self._known[key] for key in _keys(spec) if key in self._known)
        if "per_example" in said:
            return Flops(per_step=said["per_example"] * spec.global_batch)
        if "per_micro_batch" in said:
            return Flops(per_step=said["per_micro_batch"] * spec.train.accumulate * spec.world_size)
        return Flops(per_step=None, note=said.get("note"))

    def _ask(self, spec: RunSpec) -> dict[str, Any]:
        try:
            said: dict[str, Any] = json.loads(
                self._server.ask("bench.train.flops", json.dumps(_question(spec)), stop_fd=self._stop.fd)
            )
        except EndedError as error:
            return {"note": _ended(error.ended_with)}
        except ServerGoneError as error:
            return {"note": str(error)}
        return said


def _ended(ended_with: int | None) -> str:
    if ended_with == -signal.SIGALRM:
        return "counting took too long and was ended"
    return f"the process that counted ended with {ended_with}"


def _question(spec: RunSpec) -> dict[str, Any]:
    return {
        "workload": spec.workload,
        "options": spec.workload_options,
        "source": spec.data.source,
        "data_root": spec.data_root,
        "seed": spec.seed,
        "micro_batch": spec.micro_batch,
    }


def _keys(spec: RunSpec) -> tuple[str, str]:
    """Of what is trained, whatever the batch; and with its batch."""
    question = {**_question(spec), "seed": None}
    return json.dumps({**question, "micro_batch": None}, sort_keys=True), json.dumps(question, sort_keys=True)
