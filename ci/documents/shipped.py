"""The shipped suites, and the example suites in docs/examples/."""

from __future__ import annotations

from pathlib import Path

from analysis.wording.plain_text import counted
from bench.common.paths import suites_folder
from bench.plan.plan_text import repeats_text
from bench.suite.models import Case, ResolvedSuite
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from ci.documents.markdown import code, table

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def suites() -> str:
    """Title, why and cases of every shipped suite, in full and under --quick."""
    return "\n".join(_suite(path) for path in sorted(suites_folder().glob("*.yaml")))


def _suite(path: Path) -> str:
    full, quick = load_suite(path.stem), load_suite(path.stem, Selection(quick=True))
    rows = []
    for case, small in zip(full.cases, quick.cases, strict=True):
        world = ", ".join(
            str(size) if not isinstance(size, tuple) else f"{size[0]}x{size[1]}" for size in case.world
        )
        batch = _batch(case)
        rows.append(
            (
                code(case.name), case.strategy.name, case.scaling, world, batch,
                _batch(small),
            )
        )  # fmt: skip
    head = ("case", "strategy", "scaling", "ranks", "batch", "batch with `--quick`")
    lines = [f"### {path.stem}", "", f"{_sentence(full.title)} {' '.join(full.why.split())}", ""]
    lines += [
        f"Protocol: {_protocol(full)}; with `--quick` {_protocol(quick)}.",
        "",
    ]
    return "\n".join([*lines, table(head, rows)])


def _sentence(title: str) -> str:
    return title if title.endswith("?") else f"{title}."


def _batch(case: Case) -> str:
    per_rank, whole = case.batch_per_rank, case.global_batch
    if per_rank is None and whole is None:
        return "the largest that fits" if case.find_batch else "none"
    return f"{per_rank:,} per rank" if per_rank else f"{whole:,} in all"


def _protocol(suite: ResolvedSuite) -> str:
    """The protocol of the suite's first case; if cases differ in repeats, all numbers, the smallest first."""
    measure = suite.cases[0].measure
    span = counted(measure.steps, "steps") if measure.steps else counted(measure.epochs or 0, "epochs")
    every = sorted((case.measure for case in suite.cases), key=lambda each: each.repeats)
    repeats = " or ".join(
        dict.fromkeys(repeats_text(each.fewest_repeats, each.most_repeats) for each in every)
    )
    return f"{counted(measure.warmup, 'warm-up steps')}, {span}, {repeats} repeat{'s' * (repeats != '1')}"


def examples() -> str:
    """Every example, below the sentence at the beginning of its file."""
    return "\n".join(_example(path) for path in sorted(EXAMPLES.glob("*.yaml")))


def _example(path: Path) -> str:
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    assert first.startswith("# "), f"{path} begins with a comment that says what it shows"
    return f"**{first[2:]}** ([{path.name}](examples/{path.name}))\n\n```yaml\n{rest.strip()}\n```\n"
