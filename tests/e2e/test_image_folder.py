"""Real picture files through the real command: training, validation, and errors that name a bad file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from processes import Marked, OneProcess

SMALL = {
    "image_size": 16,
    "patch_size": 8,
    "layers": 1,
    "heads": 2,
    "hidden_dim": 16,
    "mlp_dim": 32,
    "classes": 2,
}


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    return Marked(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for split, count in (("train", 8), ("val", 3)):
        for name, colour in (("red", (200, 0, 0)), ("blue", (0, 0, 200))):
            folder = tmp_path / "data" / split / name
            folder.mkdir(parents=True)
            for number in range(count):
                Image.new("RGB", (30, 20), colour).save(folder / f"{number}.jpg")
    return tmp_path / "data"


def suite(folder: Path, *workers: int) -> str:
    path = folder / "pictures.yaml"
    case = {"strategy": "single", "scaling": "none", "batch_per_rank": 8, "world": [1]}
    path.write_text(
        json.dumps(
            {
                "title": "Pictures",
                "workload": {"name": "vit_b_16", **SMALL},
                "data": {"source": "imagefolder"},
                "measure": {"warmup": 1, "steps": 3, "repeats": 1, "timeout_s": 120},
                "device": "cpu",
                "cases": [
                    {"name": f"workers{count}", "data": {"workers": count}, **case} for count in workers
                ],
            }
        )
    )
    return str(path)


def outcomes(session: Path) -> dict[str, Any]:
    return {path.parent.name: json.loads(path.read_text())["outcome"] for path in session.glob("*/run.json")}


def test_pictures_are_trained_on_and_a_corrupt_one_is_named_in_the_row_of_each_run_that_meets_it(
    tmp_path: Path, data: Path, marked: Marked
) -> None:
    session = tmp_path / "results" / "s"
    with OneProcess(marked.environment) as one_process:
        asked = ["--data", str(data), "--results", str(session.parent), "--no-load"]
        done = one_process.run("suite", suite(tmp_path, 2), *asked, "--session", "s")
        assert (done.returncode, outcomes(session)["workers2.1x1.r0"]["status"]) == (0, "ok"), done.stderr

        corrupt = data / "train" / "red" / "3.jpg"
        corrupt.write_text("a picture of nothing")
        done = one_process.run("suite", suite(tmp_path, 0, 2), *asked, "--session", "t")
        ends = outcomes(session.with_name("t"))
        assert (done.returncode, {end["status"] for end in ends.values()}) == (1, {"failed"})
        assert ends["workers0.1x1.r0"]["error"] == (
            f"InputError: {corrupt} cannot be decoded as a picture (UnidentifiedImageError): replace or remove it"
        )
        assert ends["workers2.1x1.r0"]["error"].startswith(
            f"InputError in a loader process: {corrupt} cannot be"
        )
    assert marked.left() == []


def test_a_missing_split_is_said_before_anything_is_written(
    tmp_path: Path, data: Path, marked: Marked
) -> None:
    shutil.rmtree(data / "val")
    done = marked.run(
        "suite", suite(tmp_path, 0), "--data", str(data), "--results", str(tmp_path / "results")
    )
    assert done.returncode == 2
    assert f"there is no folder {data}/val: pictures belong in {data}/val/CLASS/NAME.jpg" in done.stderr
    assert not list(tmp_path.glob("results/*/session.json"))
