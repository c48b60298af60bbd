"""The runs of `bench shadow`, each with its shadows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.common.errors import InputError
from bench.common.own_part import label
from bench.machine.slots import detect
from bench.predict.predict import planned
from bench.records.run_spec import RunSpec
from bench.shadow import shadow_text
from bench.shadow.records import Shadow
from bench.shadow.shadow import layout_of, shadow, shadow_of_script
from bench.suite.models import world_text
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection, world_sizes


@dataclass(frozen=True, kw_only=True)
class Shadowed:
    """A run and its shadows."""

    title: str
    case_name: str
    world_size: int
    nodes: int
    shadows: Sequence[Shadow] = ()
    """Rank 0; with a pipeline a rank of each stage."""
    problem: str | None = None
    """Why there are no shadows."""
    is_refused: bool = False
    """Whether the problem is an error of input, and not a run that is skipped."""

    def lines(self) -> list[str]:
        if self.problem is not None:
            return [f"{self.title}: no shadow: {self.problem}"]
        return shadow_text.lines(self.title, self.shadows)

    def to_json(self) -> dict[str, Any]:
        return {
            "case_name": self.case_name,
            "world_size": self.world_size,
            "nodes": self.nodes,
            "problem": self.problem,
            "shadows": [
                {
                    **{key: value for key, value in one.to_json().items() if key != "messages"},
                    "messages": [dataclasses.asdict(each) for each in one.sums()],
                }
                for one in self.shadows
            ],
        }


def shadows_of_suite(name: str | None, options: Mapping[str, Any]) -> list[Shadowed]:
    """One for each case and world size. Raises InputError if the suite cannot be planned."""
    if name is None:
        raise InputError(
            "there is nothing to shadow: name a suite, as in `bench shadow smoke --world 64`, or give a command after "
            "two dashes, as in `bench shadow --world 64 -- python train.py`"
        )
    selecting = ("quick", "cases", "settings", "vary", "world", "device")
    suite = load_suite(name, Selection(**{key: options[key] for key in selecting}))
    runs = planned(suite, detect(options["ranks_per_node"]), options["data_root"])
    return [_shadowed(run.spec, run.skip_reason, options["timeout_s"]) for run in runs]


def _shadowed(spec: RunSpec, skip_reason: str | None, timeout_s: float) -> Shadowed:
    where = str(spec.world_size) if spec.nodes == 1 else f"{spec.nodes}x{spec.ranks_per_node}"
    title = f"{spec.case_name}: {label(spec.strategy)} on {where} rank{'s' * (spec.world_size > 1)}"
    title += f", {spec.train.precision}"
    if spec.batch_per_rank:  # 0 if the batch does not divide
        title += f", batch {spec.batch_per_rank} per rank"
    found = Shadowed(
        title=title,
        case_name=spec.case_name,
        world_size=spec.world_size,
        nodes=spec.nodes,
        problem=skip_reason,
    )
    if skip_reason is not None:
        return found
    return _with_shadows(found, lambda: [shadow(spec, rank, timeout_s=timeout_s) for rank in _ranks(spec)])


def _with_shadows(run: Shadowed, shadows: Callable[[], list[Shadow]]) -> Shadowed:
    try:
        return dataclasses.replace(run, shadows=shadows())
    except InputError as error:
        return dataclasses.replace(run, problem=str(error), is_refused=True)


def _ranks(spec: RunSpec) -> list[int]:
    """Rank 0; with a pipeline the first rank of each stage."""
    layout = layout_of(spec)
    if layout is None:
        return [0]
    return [stage * layout.tp for stage in range(layout.pp)]


def shadows_of_command(words: Sequence[str], options: Mapping[str, Any]) -> list[Shadowed]:
    """One for each world size."""
    if options["world"] is None:
        raise InputError("a command needs --world, as in --world 8x512")
    sizes = world_sizes(options["world"])
    if "auto" in sizes:
        raise InputError("--world auto: a shadow of a command needs a number, as in --world 8x512")
    return [_shadowed_command(words, size, options) for size in sizes if size != "auto"]


def _shadowed_command(
    words: Sequence[str], size: int | tuple[int, int], options: Mapping[str, Any]
) -> Shadowed:
    world_size, per_node = (size[0] * size[1], size[1]) if isinstance(size, tuple) else (size, None)
    per_node = per_node or min(world_size, options["ranks_per_node"] or world_size)
    run = Shadowed(
        title=f"{' '.join(words)} on {world_text(size)} ranks",
        case_name="script",
        world_size=world_size,
        nodes=-(-world_size // per_node),
    )
    return _with_shadows(
        run,
        lambda: [
            shadow_of_script(
                words, world_size=world_size, ranks_per_node=per_node, timeout_s=options["timeout_s"]
            )
        ],
    )
