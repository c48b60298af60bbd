"""CIFAR-10's own 163 MiB are not here: small files of its format with different checksums replace them."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision.datasets import CIFAR10

from bench import workloads
from bench.common.errors import InputError
from bench.data.images import cifar10

TRAIN = [f"data_batch_{number}" for number in range(1, 6)]


class _Touch:
    """Unpickling it creates a file: the proof that a pickle was opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for value, name in enumerate([*TRAIN, "test_batch"]):
        entry = {"data": np.full((4, 3072), value, dtype=np.uint8), "labels": [0, 1, 2, 3]}
        (folder / name).write_bytes(pickle.dumps(entry))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": list("abcdefghij")}))

    def md5(name: str) -> str:
        return hashlib.md5((folder / name).read_bytes(), usedforsecurity=False).hexdigest()

    monkeypatch.setattr(CIFAR10, "train_list", [[name, md5(name)] for name in TRAIN])
    monkeypatch.setattr(CIFAR10, "test_list", [["test_batch", md5("test_batch")]])
    monkeypatch.setattr(CIFAR10, "meta", {**CIFAR10.meta, "md5": md5("batches.meta")})
    return tmp_path


def test_files_with_the_right_checksums_are_read(root: Path) -> None:
    train, test = cifar10.read(root)
    assert train.shape == (20, 3, 32, 32)
    assert train[:, 0, 0, 0].tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4
    assert test.shape == (4, 3, 32, 32)
    assert test.dtype == torch.uint8


@pytest.mark.parametrize("name", ["data_batch_3", "test_batch", "batches.meta"])
def test_a_tampered_file_is_named_and_never_unpickled(root: Path, name: str) -> None:
    proof = root / "opened"
    path = root / "cifar-10-batches-py" / name
    path.write_bytes(pickle.dumps(_Touch(proof)))
    with pytest.raises(InputError, match=f"{name} is not the published file .* it was not opened"):
        cifar10.read(root)
    assert not proof.exists()
    pickle.loads(path.read_bytes())  # so the proof proves something
    assert proof.exists()


def test_a_missing_file_is_named_with_the_folder_where_it_belongs(root: Path) -> None:
    (root / "cifar-10-batches-py" / "data_batch_2").unlink()
    with pytest.raises(InputError) as error:
        cifar10.read(root)
    assert str(error.value) == (
        f"no data_batch_2 in {root}/cifar-10-batches-py: unpack cifar-10-python.tar.gz there, "
        "or give the folder above cifar-10-batches-py/ with --data"
    )


def test_the_workload_trains_on_the_files_and_validates_on_the_test_images(root: Path) -> None:
    kind = workloads.load("ddpm_unet")
    made = kind(kind.Options(validation_examples=3), "cifar10", str(root), 0)
    made.prepare()
    assert (made.dataset_size, made.validation_size) == (20, 3)
    assert made.batch(torch.tensor([9]), torch.tensor([0]))["images"].unique().tolist() == [2]
    assert made.validation_batch([0])["images"].unique().tolist() == [5]


def test_cifar10_needs_a_data_folder_and_its_own_image_size() -> None:
    kind = workloads.load("ddpm_unet")
    with pytest.raises(InputError, match=r"give DIR with --data, or use source synthetic"):
        kind(kind.Options(), "cifar10", None, 0)
    with pytest.raises(InputError, match=r"image_size is 16, CIFAR-10's is 32"):
        kind(kind.Options(image_size=16), "cifar10", "/data", 0)


def test_bench_suite_names_a_tampered_file_and_the_remedy(tmp_path: Path) -> None:
    proof = tmp_path / "opened"
    path = tmp_path / "cifar-10-batches-py" / "data_batch_1"
    path.parent.mkdir()
    path.write_bytes(pickle.dumps(_Touch(proof)))
    (tmp_path / "pictures.yaml").write_text(
        "{title: Pictures, workload: {name: ddpm_unet}, device: cpu, data: {source: cifar10}, "
        "measure: {steps: 2}, cases: [{name: one, strategy: single, scaling: none, batch_per_rank: 4, world: [1]}]}"
    )
    asked = ["suite", str(tmp_path / "pictures.yaml"), "--data", str(tmp_path)]
    asked += ["--results", str(tmp_path / "results")]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *asked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"error: case one: {path} is not the published file (MD5 c99cafc152244af753f735de768cd75f): "
        "it was not opened; unpack it again"
    )
    assert not proof.exists()
    assert not (tmp_path / "results").exists()
