"""FLOPs of an optimizer step, counted on the leader once per model and data, before its first run."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from typing import Any

from bench.agent.fork_server import EndedError, ServerGoneError, WarmServer
from bench.records.run_spec import RunSpec
from bench.session.stop import StopRequest


@dataclass(frozen=True, kw_only=True)
class Flops:
    """FLOPs of one run."""

    per_step: float | None
    """For one optimizer step over all ranks; null if unknown."""
    note: str | None = None
    """Why they were not counted."""


class FlopsCounter:
    """Counts FLOPs, as bench/train/flops.py defines them, and remembers the counts."""

    def __init__(self, server: WarmServer, stop: StopRequest) -> None:
        self._server = server
        self._stop = stop
        self._known: dict[str, dict[str, Any]] = {}
        """Answers of the counting process, by the model and its data, with or without the micro-batch."""

    def is_known(self, spec: RunSpec) -> bool:
        """Whether `of` returns at once."""
        return any(key in self._known for key in _keys(spec))

    def of(self, spec: RunSpec) -> Flops:
        """The FLOPs of a run. The first count of a model takes seconds. A failure becomes a note, never an error."""
        if not self.is_known(spec):
            answer = self._ask(spec)
            of_any_batch, of_this_batch = _keys(spec)
            self._known[of_this_batch if "per_micro_batch" in answer else of_any_batch] = answer
        answer = next(self._known[key] for key in _keys(spec) if key in self._known)
        if "per_example" in answer:
            return Flops(per_step=answer["per_example"] * spec.global_batch)
        if "per_micro_batch" in answer:
            return Flops(per_step=answer["per_micro_batch"] * spec.train.accumulate * spec.batch_groups)
        return Flops(per_step=None, note=answer.get("note"))

    def _ask(self, spec: RunSpec) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = json.loads(
                self._server.ask("bench.train.flops", json.dumps(_question(spec)), stop_fd=self._stop.fd)
            )
        except EndedError as error:
            if error.ended_with == -signal.SIGALRM:
                return {"note": "counting took too long and was ended"}
            return {"note": f"the process that counted ended with {error.ended_with}"}
        except ServerGoneError as error:
            return {"note": str(error)}
        return answer


def _question(spec: RunSpec) -> dict[str, Any]:
    return {**spec.workload_with_data, "micro_batch": spec.micro_batch}


def _keys(spec: RunSpec) -> tuple[str, str]:
    """Keys of the model and its data: for any micro-batch, and for this one."""
    question = {**_question(spec), "seed": None}
    return json.dumps({**question, "micro_batch": None}, sort_keys=True), json.dumps(question, sort_keys=True)
