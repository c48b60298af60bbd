"""Published curves next to a session's own: on its page, and nowhere else unless asked for."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.database import connections
from analysis.report import named_queries, write
from analysis.report.pages.session_data import Contents
from bench.cli.reference import command
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import Stored, stored_as

STEP_MS = {1: 330.0, 2: 340.0, 4: 345.0}
LIKE_DLPERF = Case(
    name="resnet",
    step_ms=STEP_MS,
    scaling="weak",
    batch=128,
    workload="resnet50",
    device_type="cuda",
    outcome={"device_name": "Tesla V100-SXM2-16GB", "parameters": 25_557_032},
)


DIFFERING = (
    (
        {"precision": "fp16", "batch": 256, "workload": "vit_b_16"},
        "resnet50-amp-oneflow",
        "model resnet50, here vit_b_16",
    ),
    ({"precision": "bf16"}, "resnet50-fp32-oneflow", "precision fp32, here bf16"),
    ({"batch": 64}, "resnet50-fp32-oneflow", "batch per rank 128, here 64"),
    ({"workload": "vit_b_16"}, "resnet50-fp32-oneflow", "model resnet50, here vit_b_16"),
    (
        {"outcome": {"device_name": "Tesla V100-SXM2-32GB"}},
        "resnet50-fp32-oneflow",
        "GPU Tesla V100-SXM2-16GB, here Tesla V100-SXM2-32GB",
    ),
    ({"scaling": "strong"}, "resnet50-fp32-oneflow", "batch per rank 128, here 128 global batch"),
)
"""Facts of a session that differ from DLPerf's, its nearest curve, and how that differs."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All published tables; a session that is like DLPerf's ResNet-50 in fp32, one that is not, one of one size, and
    `other0`, `other1`, ... for each of DIFFERING."""
    folder = tmp_path_factory.mktemp("curves") / "r"
    make_session(folder, [LIKE_DLPERF], session_id="alike")
    make_session(folder, [Case(name="ddp", step_ms={1: 10.0, 2: 6.0})], session_id="cpu")
    make_session(folder, [Case(name="ddp", step_ms={2: 6.0})], session_id="one_size")
    for number, (changed, _, _) in enumerate(DIFFERING):
        make_session(folder, [replace(LIKE_DLPERF, **changed)], session_id=f"other{number}")
    done = CliRunner().invoke(command, ["load", "--results", str(folder)], standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 0)
    return folder


def rows(results: Path, query: str, session: str) -> Sequence[dict[str, object]]:
    with connections.reader(results) as connection:
        return named_queries.frame(connection, query, session).to_dicts()


def page(results: Path, session: str, out: Path) -> str:
    write(results, [session], out)
    return (out / f"{session}.html").read_text(encoding="utf-8")


def section(page: str) -> str:
    found = re.search(r'<h2 id="published">.*?(?=<h2 |</main>)', page, re.S)
    assert found is not None
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found[0])).split())


def test_efficiency_is_drawn_with_six_curves_of_every_source(results: Path) -> None:
    drawn = rows(results, "published_efficiency", "cpu")
    curves = {str(row["case_name"]) for row in drawn if row["is_published"]}
    assert len(curves) == 6
    assert {name.partition(":")[0] for name in curves} == {
        "dlperf",
        "llm-foundry",
        "megatron-lm",
        "torchtitan",
    }
    assert {row["case_name"] for row in drawn if not row["is_published"]} == {"ddp"}
    assert all(row["efficiency_lo"] is None for row in drawn if row["is_published"])


def test_throughput_is_drawn_only_where_gpu_model_precision_and_batch_agree(results: Path) -> None:
    assert rows(results, "published_throughput", "cpu") == []
    drawn = rows(results, "published_throughput", "alike")
    curves = {str(row["case_name"]) for row in drawn if row["is_published"]}
    assert len(curves) == 6
    assert all(name.startswith("dlperf: resnet50-fp32-") for name in curves)
    assert {row["case_name"] for row in drawn if not row["is_published"]} == {"resnet"}
    oneflow = [row["throughput"] for row in drawn if row["case_name"] == "dlperf: resnet50-fp32-oneflow"]
    assert oneflow == [397.64, 3130.34, 6260.30, 12411.97]


@pytest.mark.parametrize("number", range(len(DIFFERING)))
def test_one_fact_that_differs_is_named_and_hides_throughput(results: Path, number: int) -> None:
    _, nearest, said = DIFFERING[number]
    shown = {row["case_name"]: row["differences"] for row in rows(results, "published", f"other{number}")}
    assert shown[nearest] == said
    assert rows(results, "published_throughput", f"other{number}") == []


def test_the_page_names_curves_and_differences(results: Path, tmp_path: Path) -> None:
    said = section(page(results, "cpu", tmp_path))
    assert "llm-foundry: mpt-7b" in said
    assert "GPU NVIDIA H100 80GB, here" in said
    assert "Some fact differs from each curve, so throughput is not drawn." in said
    assert "Drawn: 6 of 41 published curves" in said
    alike = section(page(results, "alike", tmp_path))
    assert "How does throughput compare with published curves?" in alike
    assert "nothing that is compared" in alike


@pytest.mark.parametrize("session", ["one_size", "published-dlperf"])
def test_a_page_without_a_curve_of_its_own_has_no_such_section(
    results: Path, tmp_path: Path, session: str
) -> None:
    shown = page(results, session, tmp_path)
    assert 'id="published"' not in shown
    assert "Next to published curves" not in shown


def test_the_page_of_a_published_table_says_what_it_is(results: Path, tmp_path: Path) -> None:
    markup = page(results, "published-torchtitan", tmp_path)
    labels = set(re.findall(r'<span class="label \w+"><bdi>(.*?)</bdi>', markup))
    assert labels - {"ok", "not judged"} == {"baseline", "published, one figure"}
    shown = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())
    assert "licence BSD-3-Clause: https://github.com/pytorch/torchtitan/" in shown
    assert "Why, and what to change" not in shown
    assert "one figure per size · tag published" in shown
    assert "lost, cause not known why" not in shown
    assert "How often it measured, and how much that varied, is unknown" in shown


@stored_as(Case(name="ddp", step_ms={1: 10.0, 2: 6.0}))
def test_without_a_published_table_a_page_has_no_trace_of_them(
    stored: Stored, contents: Contents, tmp_path: Path
) -> None:
    assert 'id="published"' not in page(*stored, tmp_path)
    assert contents.charts["published_efficiency"].is_empty()
