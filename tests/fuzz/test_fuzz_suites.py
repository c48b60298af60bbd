"""Any suite file and --set give a plan, or one error that names the place. Nothing is written."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.plan.plan_text import plan_lines, suite_lines
from bench.records.run_spec import Slots
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from bench.suite.yaml_nodes import parse
from tests.fuzz.limits import ends
from tests.fuzz.mutation import ODD_TEXTS, mangled, mutated

ROOT = Path(__file__).parents[2]
FILES = [*sorted((ROOT / "suites").glob("*.yaml")), *sorted((ROOT / "docs/examples").glob("*.yaml"))]
TEXTS = [path.read_text() for path in FILES]
TREES = [parse(text, "suite").without_places() for text in TEXTS]
assert all("1e-3" not in json.dumps(tree) for tree in TREES), "numbers are numbers"
SNIPPETS = (
    "!!python/object/apply:os.system [id]", "&a [*a]", "<<: *a", "? [1]", "\t", "%YAML 9.9", "%TAG ! x", "---",
    "...", "\0",
    "\ufeff", "- " * 50, "{" * 2_000, "[" * 300 + "]" * 300, "key: &a x", "world: *a", "world: 1000000000",
    "x" * 50_000,
    "steps: 1000000000", "cases:", "quick: {cases: []}", "'", '"', "|", ">", "#", ": :", "\\", "\x85",
    "\u2028", "matrix: {}",
    "a: &a [1,1,1,1,1,1,1,1,1]", "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]", "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]",
    "matrix: {train.compile: [true, false], a.b: [1, 2]}",
)  # fmt: skip
KEYS = (
    "title", "why", "device", "workload", "workload.name", "train", "train.precision", "train.learning_rate",
    "data.workers",
    "measure.steps", "measure.repeats", "measure.until", "cases", "cases.single", "cases.ddp_strong.world",
    "cases.single.name",
    "cases.ddp_strong.matrix", "cases.ddp_strong.global_batch", "", ".", "..", "quick", "quick.cases",
    "train..seed", "~",
    "__class__", "x" * 5_000,
)  # fmt: skip
SLOTS = Slots(nodes=2, slots_per_node=4, cpus_per_node=8, device_type="cpu")

SETTINGS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(KEYS),
            st.one_of(st.sampled_from([*ODD_TEXTS, *SNIPPETS]), st.text(max_size=30)),
        ).map("=".join),
        st.text(max_size=30),
    ),
    max_size=2,
)
SELECTIONS = st.builds(
    Selection,
    quick=st.booleans(),
    settings=SETTINGS.map(tuple),
    cases=st.one_of(st.just(()), st.tuples(st.sampled_from(["*", "ddp*", "[", "", "\ud800"]))),
    world=st.one_of(
        st.none(), st.sampled_from(["1", "1,2x4,auto", ",", "9" * 30, "1x1000000", "\u0664", "auto"])
    ),
    repeats=st.sampled_from([None, 1, 10**9]),
    device=st.sampled_from([None, "cpu", "cuda"]),
)
AS_IT_IS = st.just(Selection())


def as_json(tree: Any) -> bytes:
    """JSON is YAML too, and can express values that a YAML writer refuses."""
    return json.dumps(tree).encode()


@contextmanager
def refused_or(path: Path) -> Iterator[None]:
    """Only our own error may get out; its message must be printable and name the place."""
    try:
        with ends():
            yield
    except InputError as error:
        said = str(error)
        assert said.strip(), "an error says something"
        assert len(said) < 200_000, "an error can be read"


def read_and_plan(content: bytes, selection: Selection) -> None:
    """Read and plan as `bench show` does."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "suite.yaml"
        path.write_bytes(content)
        with refused_or(path):
            suite = load_suite(str(path), selection)
            planned = plan(suite, SLOTS, "planned", oversubscribe=True)
            assert suite_lines(suite)
            assert plan_lines(planned, Path(name) / "none")
            json.dumps(suite.to_json(), allow_nan=False)
        assert [path.name for path in Path(name).iterdir()] == ["suite.yaml"]


@settings(max_examples=120)
@given(st.sampled_from(TREES).flatmap(mutated), st.one_of(AS_IT_IS, SELECTIONS))
def test_a_suite_with_odd_values_is_planned_or_refused(tree: Any, selection: Selection) -> None:
    read_and_plan(as_json(tree), selection)


@settings(max_examples=80)
@given(st.sampled_from(TEXTS).flatmap(lambda text: mangled(text, SNIPPETS)), st.one_of(AS_IT_IS, SELECTIONS))
def test_a_suite_with_odd_lines_is_planned_or_refused(text: str, selection: Selection) -> None:
    read_and_plan(text.encode("utf-8", "surrogatepass"), selection)


@settings(max_examples=60)
@given(st.sampled_from(TREES), SELECTIONS)
def test_a_sound_suite_with_odd_settings_is_planned_or_refused(tree: Any, selection: Selection) -> None:
    read_and_plan(as_json(tree), selection)


@settings(max_examples=60)
@given(
    st.one_of(
        st.binary(max_size=300), st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace"))
    )
)
def test_any_bytes_as_a_suite_are_refused(content: bytes) -> None:
    read_and_plan(content, Selection())
