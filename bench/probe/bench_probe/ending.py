"""The steps after the measured ones (pairs of the self-check, profiled steps), the end of the script, its outcome."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path

import torch
from bench_probe import events, torch_private
from bench_probe.profiled import Profile
from bench_probe.selfcheck import SelfCheck
from bench_probe.step_file import LEAST_STEPS

_TOO_SHORT = "the script ended before its profiled steps: let it train for more steps"
_LEAVE_S = 10.0
"""Time for a script to end after its last step: to close its files and its process group."""


class Ending:
    """The end of a recorded process."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.scratch = Path(recorder.job["scratch"])
        self.check = self._profile = None
        self._problem = None
        """Why there is no profile, if it has not begun."""
        self._check_rows = []
        self.profilers = 0
        """Profilers of the script that are running."""
        self.world_size = None
        """Ranks of the script's process group when its steps began: it may have left the group at its end."""
        self._trained_elements = None
        """Elements of the optimizers' parameters, once the script has taken all its steps."""

    def has_begun(self):
        """Whether the last measured step has ended."""
        counting = self._recorder.counting
        return self.check is not None or self._profile is not None or counting.taken == counting.last

    def go_on(self):
        """A step has ended that is the last measured one, or that follows it: a pair of the self-check comes next, or a
        profiled step, or the end."""
        recorder = self._recorder
        if self.check is None and self._profile is None and recorder.job.get("pairs"):
            recorder.rows.store_all()
            self.check = SelfCheck(recorder, recorder.job["pairs"], recorder.job["seed"])
        if self.check is not None:
            if not self.check.is_done:
                return
            self._end_check()
            recorder.is_listening = True
        if self._profile is None:
            is_taken = self.profilers > 0 or torch_private.profiler_enabled()
            first = recorder.counting.taken
            self._profile = Profile(recorder.job, self.scratch, recorder.device, first, is_taken)
        self._profile.next()
        if self._profile.is_done:
            self._finish()

    def _end_check(self):
        self._check_rows, self.check = self.check.rows, None

    def _finish(self):
        """End the script: it has taken all of its steps."""
        recorder = self._recorder
        recorder.rows.store_all()
        recorder.is_done, recorder.is_listening = True, False
        self._write(parameters=self._parameters(), is_ended_by_us=True)
        threading.Thread(target=_leave_late, daemon=True).start()
        raise SystemExit(0)

    def _parameters(self):
        """Elements of the models; notes those of the optimizers, too."""
        optimizers, roots = self._recorder.closing.optimizers, self._recorder.models.roots
        trained = {id(each): each for o in optimizers for g in o.param_groups for each in g["params"]}
        parameters = {id(each): each for root in roots for each in root.parameters()} or trained
        self._trained_elements = sum(each.numel() for each in trained.values())
        return sum(each.numel() for each in parameters.values())

    def leave(self):
        """At the end of the process: say how far it came, if it did not come to the end. Five measured steps are enough
        for a run without a profile, if the script ends without an error."""
        recorder = self._recorder
        if recorder.is_copy or recorder.is_done:
            return
        recorder.is_done, recorder.is_listening = True, False
        if self.check is not None:
            self.check.end()
            self._end_check()
        if recorder.rows is not None:
            with contextlib.suppress(Exception):
                recorder.rows.store_passed()
        if self._profile is not None:
            self._profile.abandon()
        least = min(LEAST_STEPS, recorder.job["steps"])
        is_enough = recorder.rows is not None and recorder.rows.steps >= least
        if is_enough and recorder.job["profiled"]:
            self._problem = _TOO_SHORT
        self._write(**({"parameters": self._parameters()} if is_enough else {}))

    def note_other_process(self):
        """Another process of the rank takes steps, too."""
        (self.scratch / f"processes.rank{self._recorder.job['rank']}").touch()

    def _write(self, **facts):
        recorder, profile = self._recorder, self._profile
        closing, counting, rows = recorder.closing, recorder.counting, recorder.rows
        loaders = recorder.loaders
        facts |= {
            "command": {
                "steps": counting.taken,
                "optimizers": closing.names,
                "late_optimizers": closing.late,
                "closing": closing.name,
                "has_own_steps": closing.has_own_steps,
                "has_own_loss": closing.has_own_loss,
                "named_phases": sorted(recorder.named_phases),
                "trained_elements": self._trained_elements,
                "models": [type(root).__name__ for root in recorder.models.roots],
                "seen": sorted(recorder.seen),
                "loader": {"workers": loaders.workers, "starts": loaders.starts},
                "loader_counts": sorted(loaders.counted_by),
                "is_loaded_elsewhere": loaders.is_read_elsewhere,
                "examples": rows.examples() if rows else {},
                "tokens": rows.tokens if rows else 0,
                "measured_steps": rows.steps if rows else 0,
                "skipped_steps": counting.skipped,
                "digest": counting.digest,
                "pauses": rows.pauses if rows else [],
                "groups": profile.groups if profile else {},
                "world_size": events.world_size() or self.world_size,
                "profile_problem": (profile.problem if profile else None) or self._problem,
                "errors": recorder.errors,
                "torch": torch.__version__,
            },
            "selfcheck": self._check_rows,
            "device_name": recorder.device.name,
        }
        path = self.scratch / f"outcome.rank{recorder.job['rank']}.json"
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(facts))
        if recorder.closed:
            temporary.rename(path)
        else:  # perhaps a process that the one that trains has started, whose outcome stays
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
            temporary.unlink()


def _leave_late():
    time.sleep(_LEAVE_S)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
