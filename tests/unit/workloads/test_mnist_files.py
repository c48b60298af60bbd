from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torchvision.datasets import MNIST

from bench import workloads
from bench.common.errors import InputError
from bench.data.digits import make
from bench.data.images import idx, mnist

FILES = [
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the digits, as a user's --data folder would hold MNIST."""
    shutil.copytree(mnist.DIGITS / "MNIST", tmp_path / "MNIST")
    return tmp_path


def raw(root: Path, name: str) -> Path:
    return root / "MNIST" / "raw" / name


def test_the_shipped_digits_are_scikit_learns() -> None:
    digits = load_digits()
    expected = sorted(
        (int(label), np.rint(image * 255 / 16).astype(np.uint8).tobytes())
        for image, label in zip(digits.images, digits.target, strict=True)
    )
    shipped = [MNIST(mnist.DIGITS, train=train) for train in (True, False)]
    assert [len(part) for part in shipped] == [1438, 359]
    pairs = [
        (int(y), x.numpy().tobytes())
        for part in shipped
        for x, y in zip(part.data, part.targets, strict=True)
    ]
    assert sorted(pairs) == expected


def test_every_class_is_in_both_splits() -> None:
    (_, train), (_, test) = mnist.read(mnist.DIGITS)
    assert torch.bincount(test).tolist() == [36, 36, 35, 37, 36, 36, 36, 36, 35, 36]
    assert (torch.bincount(train) + torch.bincount(test)).tolist() == [
        178,
        182,
        177,
        183,
        181,
        182,
        181,
        179,
        174,
        180,
    ]


def test_the_program_that_made_the_shipped_files_makes_them_again(tmp_path: Path) -> None:
    make.main(tmp_path)
    made = {path.name: path.read_bytes() for path in (tmp_path / "MNIST" / "raw").iterdir()}
    assert sorted(made) == FILES
    assert made == {path.name: path.read_bytes() for path in (mnist.DIGITS / "MNIST" / "raw").iterdir()}


def test_the_attribution_names_source_and_licence() -> None:
    text = (mnist.DIGITS / "ATTRIBUTION.md").read_text()
    assert "E. Alpaydin, C. Kaynak" in text
    assert "CC BY 4.0" in text


def test_bilinear_resizing_keeps_a_flat_image_flat_and_a_corner_its_value() -> None:
    flat = torch.full((1, 1, 8, 8), 77, dtype=torch.uint8)
    assert torch.equal(mnist.resize(flat, 28), torch.full((1, 1, 28, 28), 77, dtype=torch.uint8))
    corner = torch.zeros(1, 1, 8, 8, dtype=torch.uint8)
    corner[0, 0, 0, 0] = 200
    assert mnist.resize(corner, 28)[0, 0, 0, 0] == 200
    assert mnist.resize(corner, 28)[0, 0, -1, -1] == 0


def test_packed_files_read_like_unpacked_ones(root: Path) -> None:
    for name in FILES:
        packed = raw(root, f"{name}.gz")
        packed.write_bytes(gzip.compress(raw(root, name).read_bytes()))
        raw(root, name).unlink()
    (images, labels), (test_images, test_labels) = mnist.read(root)
    (expected, expected_labels), (expected_test, expected_test_labels) = mnist.read(mnist.DIGITS)
    assert torch.equal(images, expected)
    assert torch.equal(labels, expected_labels)
    assert torch.equal(test_images, expected_test)
    assert torch.equal(test_labels, expected_test_labels)
    assert sorted(path.name for path in (root / "MNIST" / "raw").iterdir()) == [
        f"{name}.gz" for name in FILES
    ]


def test_a_missing_file_is_named_with_the_folder_where_it_belongs(root: Path) -> None:
    raw(root, "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(InputError) as error:
        mnist.read(root)
    assert str(error.value) == (
        f"no t10k-labels-idx1-ubyte[.gz] in {root}/MNIST/raw: put MNIST's four files there, "
        "or give the folder above MNIST/ with --data"
    )


def test_a_truncated_file_is_named_with_both_sizes(root: Path) -> None:
    path = raw(root, "train-images-idx3-ubyte")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError) as error:
        mnist.read(root)
    assert str(error.value) == (
        f"{path} is damaged: its header promises 1438 x 8 x 8 = 92032 bytes, it has 91932: download it again"
    )


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x00", b"<html>not here</html>", b"\x00\x00\x0d\x01\x00\x00\x00\x00"]
)
def test_a_file_that_is_no_idx_of_bytes_is_named(root: Path, content: bytes) -> None:
    raw(root, "train-labels-idx1-ubyte").write_bytes(content)
    with pytest.raises(
        InputError, match="train-labels-idx1-ubyte is not an IDX file of bytes: it begins with"
    ):
        mnist.read(root)


def test_a_damaged_packed_file_is_named(root: Path) -> None:
    name = "train-labels-idx1-ubyte"
    raw(root, f"{name}.gz").write_bytes(gzip.compress(raw(root, name).read_bytes())[:-20])
    raw(root, name).unlink()
    with pytest.raises(InputError, match=r"train-labels-idx1-ubyte\.gz is damaged"):
        mnist.read(root)


def test_images_and_labels_of_different_counts_do_not_belong_together(root: Path) -> None:
    idx.write(raw(root, "train-labels-idx1-ubyte"), np.zeros(7, dtype=np.uint8))
    with pytest.raises(InputError, match=r"do not belong together"):
        mnist.read(root)


def test_the_full_set_needs_a_data_folder() -> None:
    kind = workloads.load("mnist_cnn")
    with pytest.raises(InputError, match=r"give DIR with --data, or use source digits"):
        kind(kind.Options(), "mnist", None, 0)


def test_the_workload_reads_the_full_set_from_the_data_folder(root: Path) -> None:
    idx.write(raw(root, "t10k-images-idx3-ubyte"), np.zeros((5, 28, 28), dtype=np.uint8))
    idx.write(raw(root, "t10k-labels-idx1-ubyte"), np.arange(5, dtype=np.uint8))
    kind = workloads.load("mnist_cnn")
    made = kind(kind.Options(), "mnist", str(root), 0)
    made.prepare()
    assert made.validation_size == 5
    assert made.validation_batch([3, 1])["labels"].tolist() == [3, 1]
