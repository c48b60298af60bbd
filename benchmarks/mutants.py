"""Which small mistakes in the code do the tests find?

    python benchmarks/mutants.py [MUTANT ...] [--limit 600]

Each mutant in mutants.json replaces a short text in one file. The program applies the mutants one after another to a
temporary copy of the checkout, and runs the tests of each there. A mutant is killed if a test fails that passes without
the mutant, and survives if all its tests pass. Prints a Markdown table. Exit code 1 if a mutant that was killed before
is not killed now.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).resolve().parents[1]
FATES = ("killed", "survived", "time limit", "unclear")
"""At the time limit tests were still running; `unclear`: a test fails without the mutant, too."""
IMPORTED = "import analysis, bench; print(analysis.__file__, bench.__file__, sep='\\n')"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """An entry of mutants.json."""

    id: str
    file: str
    old: str
    """Text that occurs exactly once in the file."""
    new: str
    operator: str
    changes: str
    tests: list[str]
    """Files or node ids; the first runs before the others."""
    before: str
    """`killed` or `survived`, when the mutants were drawn by chance."""
    ported: str
    """`same line` as then, or how the mutant differs because that line was rewritten."""


def copy_of_the_checkout(folder: Path) -> None:
    """Copy the checkout's present files, without those that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, folder / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def environment(copy: Path) -> dict[str, str]:
    """The environment in which Python imports the copy before any installed checkout."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(copy), os.getenv("PYTHONPATH")]))}


def check_imports(copy: Path) -> None:
    command = [sys.executable, "-c", IMPORTED]
    found = subprocess.run(
        command, cwd=copy, env=environment(copy), capture_output=True, text=True, check=True
    )
    for path in found.stdout.splitlines():
        if not Path(path).resolve().is_relative_to(copy):
            sys.exit(f"Python imports {path}, not the copy in {copy}")


def problems(mutants: Sequence[Mutant], copy: Path) -> Iterator[str]:
    """Why mutants cannot be applied."""
    for mutant in mutants:
        path = copy / mutant.file
        place = f"mutants.json, {mutant.id}"
        yield from (
            f"{place}: there is no file {file}"
            for file in (mutant.file, *(test.partition("::")[0] for test in mutant.tests))
            if not (copy / file).is_file()
        )
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        if (count := text.count(mutant.old)) != 1:
            found = [text.count("\n", 0, one.start()) + 1 for one in re.finditer(re.escape(mutant.old), text)]
            lines = f" (lines {', '.join(map(str, found))})" if found else ""
            yield f"{place}: its text occurs {count} times in {mutant.file}{lines}, not once: {mutant.old!r}"
        elif path.suffix == ".py":
            try:
                compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")
            except SyntaxError as error:
                yield f"{place}: {mutant.file}:{error.lineno} is not valid Python with {mutant.new!r}: {error.msg}"


@contextmanager
def applied(mutant: Mutant, copy: Path) -> Iterator[None]:
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    try:
        _write(path, text.replace(mutant.old, mutant.new))
        yield
    finally:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    """Write the file and remove its bytecode, which would look current if the new text has the same length and time."""
    path.write_text(text, encoding="utf-8")
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def run_tests(copy: Path, tests: Sequence[str], limit_s: float) -> tuple[int | None, str]:
    """pytest's exit code and the first test that fails; no exit code at the time limit."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--color=no"]
    command += [f"--basetemp={copy.parent / 'pytest'}", *tests]
    output = copy.parent / "output"
    with output.open("wb") as stream:  # no pipe: a process that outlives pytest would keep it open
        process = subprocess.Popen(
            command, cwd=copy, env=environment(copy), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(max(limit_s, 0))
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    said = output.read_text(encoding="utf-8", errors="replace")
    failed = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", said, re.M)
    return code, failed[1] if failed else ""


def fate_of(mutant: Mutant, copy: Path, limit_s: float) -> tuple[str, str]:
    """One of FATES, and the test that decided it."""
    deadline = monotonic() + limit_s
    # separately: pytest would otherwise run the first test in the order of its file
    for tests in filter(None, (mutant.tests[:1], mutant.tests[1:])):
        with applied(mutant, copy):
            code, failed = run_tests(copy, tests, deadline - monotonic())
        if code is None:
            return "time limit", ""
        if code != 0:
            again = [failed.partition("[")[0]] if failed else tests
            is_clean = run_tests(copy, again, limit_s)[0] == 0
            return "killed" if is_clean else "unclear", failed or f"pytest ends with exit code {code}"
    return "survived", ""


def main() -> None:
    drawn = [Mutant(**entry) for entry in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("mutants", nargs="*", metavar="MUTANT", help="ids in mutants.json [default: all]")
    parser.add_argument(
        "--limit", type=float, default=600, metavar="SECONDS", help="for the tests of a mutant [default: 600]"
    )
    options = parser.parse_args()
    if unknown := set(options.mutants) - {mutant.id for mutant in drawn}:
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in drawn if not options.mutants or mutant.id in options.mutants]
    fates: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder).resolve() / "checkout"
        copy_of_the_checkout(copy)
        check_imports(copy)
        if found := list(problems(chosen, copy)):
            sys.exit("\n".join(found))
        print("| mutant | operator | result | test | what it changes |\n" + "| --- " * 5 + "|")
        for mutant in chosen:
            fates[mutant.id], test = fate_of(mutant, copy, options.limit)
            cells = (mutant.id, mutant.operator, fates[mutant.id], test and f"`{test}`", mutant.changes)
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |", flush=True)
    print(f"\nnow: {_counted(fates.values())}; before: {_counted(mutant.before for mutant in chosen)}")
    lost = [one.id for one in chosen if one.before == "killed" and fates[one.id] != "killed"]
    if lost:
        sys.exit(f"killed before, but not now: {', '.join(lost)}")


def _counted(fates: Iterable[str]) -> str:
    counts = Counter(fates)
    said = ", ".join(f"{counts[fate]} {fate}" for fate in FATES if counts[fate])
    return f"{said} of {counts.total()}"


if __name__ == "__main__":
    main()
