"""Launchers that start the ranks of a training: recognised by the words of a process, before torch is imported.

A launcher is the program or the script that the words start, or the module; other words do not count. This module needs
only the standard library: bench/command/launchers.py uses it, too."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

FILE = "launcher.json"
"""In the run's scratch folder, if a launcher was refused: the rank, and the launcher's words, Python and folder, with
the names of the variables that the command has set."""
_OF_SHELLS = ("BENCH_PROBE", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE")
"""Variables that differ in each process that a shell starts, or that Python sets."""
_PROGRAMS = {
    "torchrun": "torchrun",
    "deepspeed": "deepspeed",
    "accelerate": "accelerate",
    "accelerate-launch": "accelerate launch",
}
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "accelerate.commands.accelerate_cli": "accelerate",
    "accelerate.commands.launch": "accelerate launch",
    "deepspeed.launcher.runner": "deepspeed",
    "deepspeed.launcher.launch": "deepspeed",
}


def launcher_in(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """The name of the launcher that these words start, and its arguments; null if they start none, or ask for help."""
    name, rest = _PROGRAMS.get(Path(words[0]).name), list(words[1:])
    if is_python(words[0]):
        kind, program = _what_python_runs(rest)
        name = {"m": _MODULES.get(program), "": _PROGRAMS.get(Path(program).name)}.get(kind)
    if name == "accelerate":
        name = "accelerate launch" if rest[:1] == ["launch"] else None
        rest = rest[1:]
    return None if name is None or not rest or rest[0] in ("-h", "--help") else (name, rest)


def is_python(program: str) -> bool:
    name = Path(program).name
    return name.startswith("python") and not name[len("python") :].strip("0123456789.")


def _what_python_runs(rest: list[str]) -> tuple[str, str]:
    """`m` and a module, `c` and code, or an empty text and a script. Takes these words and Python's options away."""
    while rest:
        word = rest.pop(0)
        if word == "-" or not word.startswith("-"):
            return "", word
        if word.startswith("--"):
            del rest[: word == "--check-hash-based-pycs"]
            continue
        for place, letter in enumerate(word[1:], start=2):
            if letter in "cmWX":  # takes the rest of the word as its value, or the next word
                value = word[place:] or (rest.pop(0) if rest else "")
                if letter in "cm":
                    return letter, value
                break
    return "", ""


def refuse_launcher() -> None:
    """End this process if it is a launcher, and leave its words for bench, which then ends the run."""
    words = ["python", *sys.orig_argv[1:]]
    found = launcher_in(words)
    if found is None:
        return
    import json
    import zlib

    job = json.loads(os.environ["BENCH_PROBE"])
    before = job.get("variables", {})  # in which the values are not to be read
    facts = {
        "words": words,
        "python": sys.executable,
        "cwd": str(Path.cwd()),
        "variables": [
            name
            for name, value in os.environ.items()
            if before.get(name) != zlib.crc32(os.fsencode(value)) and name not in _OF_SHELLS
        ],
        "rank": job["rank"],
    }
    path = Path(job["scratch"], FILE)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(facts))
    temporary.rename(path)
    sys.stderr.write(f"bench: {found[0]} was not started, because bench starts the ranks\n")
    sys.stderr.flush()
    os._exit(2)
