"""A suite may name a custom loader of a stream, from a file or an installed package."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.suite.models import Case
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from tests.unit.suite.test_installed_workloads import folder, install, listed

__all__ = ["folder"]

MODEL = """
class Net:
    def model(self): ...
    def loss(self, model, batch): ...
"""
SUITE = """
title: Mine
workload: {name: ./mine.py:Net}
data: ./mine.py:loader
measure: {steps: 3}
cases:
  - {name: a, strategy: ddp, scaling: strong, global_batch: 8, world: [1, 2]}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODEL)
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path / "suite.yaml"


def only_case(suite: Path, *settings: str) -> Case:
    (case,) = load_suite(str(suite), Selection(settings=settings)).cases
    return case


def refused(suite: Path, *settings: str) -> str:
    with pytest.raises(InputError) as error:
        load_suite(str(suite), Selection(settings=settings))
    return str(error.value)


def test_a_loaders_file_is_looked_for_beside_the_suite(suite: Path) -> None:
    assert only_case(suite).data.source == f"{suite.parent}/mine.py:loader"


@pytest.mark.parametrize(
    "data",
    [
        "data: {source: ./mine.py:loader, workers: 2, source_options: {files: 3}}",
        "data: {workers: 2, source_options: {files: 3}}",
    ],
)
def test_its_name_alone_in_a_case_keeps_the_suites_keys_but_not_another_loaders_arguments(
    suite: Path, data: str
) -> None:
    text = SUITE.replace("data: ./mine.py:loader", data).replace(
        "a, strategy", "a, data: ./mine.py:other, strategy"
    )
    suite.write_text(text)
    found = only_case(suite).data
    assert (found.source, found.workers) == (f"{suite.parent}/mine.py:other", 2)
    assert found.source_options == ({} if "loader" in data else {"files": 3})
    assert only_case(suite, "data.source_options.more=4").data.source_options["more"] == 4


def test_it_can_be_set_on_the_command_line_in_quick_and_in_a_matrix(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(suite.parent)
    (suite.parent / "mine.py").write_text(MODEL + "    def batch(self, places, keys): ...\n")
    for settings in (
        ("data=./mine.py:set",),
        ("cases.a.data=./mine.py:set",),
        ("data.source=./mine.py:set",),
    ):
        assert only_case(suite, *settings).data.source == f"{suite.parent}/mine.py:set"
    assert only_case(suite, "data=synthetic").data.source == "synthetic"
    suite.write_text(SUITE + "quick:\n  data: ./mine.py:quick\n")
    assert load_suite(str(suite), Selection(quick=True)).cases[0].data.source.endswith("mine.py:quick")
    suite.write_text(
        SUITE.replace("a, strategy", "a, matrix: {data: [./mine.py:one, ./mine.py:two]}, strategy")
    )
    names = [case.data.source.rpartition("/")[2] for case in load_suite(str(suite)).cases]
    assert names == ["mine.py:one", "mine.py:two"]


def test_a_workload_without_batch_needs_a_loader(suite: Path) -> None:
    assert refused(suite, "data=synthetic").endswith(
        "class mine.py:Net lacks batch(places, keys): write it, or name a loader of a stream as in "
        "data: ./my_data.py:loader"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "steps: 3",
            "epochs: 1",
            "suite.yaml:5:19: case a: measure.epochs: the length of a stream is not known: give measure.steps instead",
        ),
        (
            "data: ./mine.py:loader",
            "data: {source: ./mine.py:loader, prefetch: 3}",
            "suite.yaml:4:44: case a: data.prefetch: your own loader sets it itself, so leave it out",
        ),
        (
            "data: ./mine.py:loader",
            "data: {source: loader}",
            "suite.yaml:4:16: case a: data.source is 'loader': mine.py:Net reads synthetic",
        ),
        (
            "data: ./mine.py:loader",
            "data: {source: ./mine.py:loader, source_options: {api_key: x}}",
            "data.source_options.api_key is named like a secret",
        ),
        (
            "workload: {name: ./mine.py:Net}\ndata: ./mine.py:loader",
            "workload: {name: spiral_mlp}\ndata: {source_options: {files: 3}}",
            "data.source_options are for your own loader, and data.source is synthetic: leave them out",
        ),
        ("data: ./mine.py:loader", "data: 3", "data is 3: it must be a mapping"),
        ("data: ./mine.py:loader", "data: ./mine.py", "your own loader is a function of a file"),
        ("data: ./mine.py:loader", "data: ./none.py:loader", "suite.yaml:4:7: case a: data.source: there is no file /"),
        ("data: ./mine.py:loader", "data: './mine.py:'", "data.source: '' is not the name of a function"),
        ("data: ./mine.py:loader", 'data: "./mi\\0ne.py:loader"', "data.source: there is no file ./mi"),
        (
            "data: ./mine.py:loader",
            "data: {source: ./mine.py:loader, source_options: {shard: 2}}",
            "data.source_options.shard cannot be an argument of the loader: rename it",
        ),
    ],
)  # fmt: skip
def test_a_key_that_does_not_fit_is_refused(suite: Path, old: str, new: str, message: str) -> None:
    assert old in SUITE
    suite.write_text(SUITE.replace(old, new))
    assert message in refused(suite)


def test_a_packages_loader_is_chosen_by_its_name_and_listed(folder: Path, suite: Path) -> None:
    install(
        folder, "fine_data", "fine_shards = fine_data:loader", "def loader(shard): ...", group="bench.loaders"
    )
    suite.write_text(SUITE.replace("./mine.py:loader", "fine_shards"))
    assert only_case(suite).data.source == "fine_shards"
    assert "\nloaders of installed packages\nfine_shards  fine_data 1.5 (fine_data:loader)\n" in listed()
    suite.write_text(SUITE.replace("./mine.py:loader", "fine_shard"))
    assert "mine.py:Net reads synthetic, fine_shards; did you mean fine_shards?" in refused(suite)
