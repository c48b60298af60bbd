"""Runs `bench` commands, one after another, in this process: their sessions share a fork server.

Reads a line of JSON for each command, its folder and its words, and writes one with its exit code, stdout and
stderr."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback

from bench import cli
from bench.agent.fork_server import WarmServer


def run(folder: str, words: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `bench WORDS` in that folder."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        os.dup2(out.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        os.chdir(folder)
        sys.argv[1:] = words
        try:
            code = cli.run_command()
        except BaseException:  # only this command has failed
            traceback.print_exc()
            code = 1
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for file in (out, errors):
            file.seek(0)
        return code, out.read(), errors.read()


def start_the_fork_server() -> None:
    """With torch, which a first command without it would leave out for all that follow. The commands find the
    environment variables as they were."""
    server = WarmServer()
    server.start()
    for name in server.variables:
        del os.environ[name]


if __name__ == "__main__":
    start_the_fork_server()
    commands, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for line in commands:
        json.dump(run(*json.loads(line)), answers)
        answers.write("\n")
        answers.flush()
