"""Forks a process for each script that a line of stdin names, so that torch is imported once for all tests."""

import gc
import json
import os
import runpy
import sys
import traceback

# Before the forks; the first optimizer of a process imports torch._dynamo, which takes longer than a script of a test.
import torch._dynamo  # noqa: F401

# A collection at the end of a fork would copy the memory of all that it shares. nanobind then reports leaks.
gc.collect()
gc.freeze()

for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if pid == 0:
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["BENCH_PROBE"] = json.dumps(job["probe"])
        import bench_probe.record

        bench_probe.record.begin()
        code: object = 1
        try:
            runpy.run_path(job["script"], run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
        sys.exit(code)  # with the exit handlers of the script and of the probe
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stdout.write(f"{status}\n")
    sys.stdout.flush()
