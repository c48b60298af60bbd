"""ImageFolder's layout, on small files of every kind that such folders have."""

from __future__ import annotations

import io
import shutil
import traceback
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from bench import workloads
from bench.common.error_text import describe
from bench.common.errors import InputError
from bench.data import loader
from bench.data.images import folder, pictures
from tests.unit.workloads.runs import SMALL, spec

COLOURS = {"ant": (255, 0, 0), "bee": (0, 255, 0), "cat": (0, 0, 255)}


def save(path: Path, colour: tuple[int, int, int], size: tuple[int, int] = (40, 30)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, colour in COLOURS.items():
        for number in range(3):
            save(tmp_path / "train" / name / f"{number}.JPEG", colour)
        save(tmp_path / "val" / name / "a.png", colour)
        save(tmp_path / "val" / name / "b.png", colour)
    return tmp_path


def made(root: Path | None, seed: int = 0, **options: Any) -> Any:
    kind = workloads.load("vit_b_16")
    small = {**SMALL["vit_b_16"][1], "classes": 3, **options}
    workload = kind(kind.Options(**small), "imagefolder", None if root is None else str(root), seed)
    workload.prepare()
    return workload


def test_folders_in_alphabetical_order_are_the_classes_of_their_pictures(root: Path) -> None:
    workload = made(root)
    assert (workload.dataset_size, workload.validation_size) == (9, 6)
    batch = workload.batch(torch.tensor([0, 4, 8]), torch.arange(3))
    assert batch["labels"].tolist() == [0, 1, 2]
    assert batch["images"].amax(dim=(1, 2)).argmax(dim=1).tolist() == [0, 1, 2]  # red, green, blue


def test_pixels_are_normalised_as_torchvisions_models_expect(root: Path) -> None:
    workload = made(root)
    pixels = workload.pixels(workload.validation_batch([0]))  # red
    expected = torch.tensor([(1 - 0.485) / 0.229, -0.456 / 0.224, -0.406 / 0.225])
    torch.testing.assert_close(pixels, expected.view(1, 3, 1, 1).expand(1, 3, 16, 16), rtol=1e-5, atol=1e-5)


def test_a_few_held_out_pictures_are_of_all_classes(root: Path) -> None:
    workload = made(root, validation_examples=3)
    assert workload.validation_batch([0, 1, 2])["labels"].tolist() == [0, 1, 2]


def test_grey_transparent_and_palette_pictures_become_three_channels(root: Path) -> None:
    shutil.rmtree(root / "train" / "ant")
    (root / "train" / "ant").mkdir()
    for mode in ("L", "LA", "P", "RGBA", "1"):
        Image.new(mode, (20, 50)).save(root / "train" / "ant" / f"{mode}.png")
    Image.new("CMYK", (20, 50)).save(root / "train" / "ant" / "CMYK.jpg")
    assert made(root).batch(torch.arange(6), torch.arange(6))["images"].shape == (6, 16, 16, 3)


def test_names_outside_ascii_and_files_that_are_no_pictures_do_no_harm(root: Path) -> None:
    save(root / "train" / "ant" / "Ameise-\u00e4.jpg", (1, 2, 3))
    (root / "train" / "ant" / "README.txt").write_text("ants")
    (root / "train" / "ant" / "._0.JPEG").write_bytes(b"what an archive left")
    (root / "train" / "labels.csv").write_text("")
    workload = made(root)
    assert workload.dataset_size == 10
    workload.batch(torch.arange(10), torch.arange(10))


def test_without_a_folder_the_layout_is_said() -> None:
    with pytest.raises(InputError, match=r"reads DIR/train/CLASS/NAME.jpg .*: give DIR with --data"):
        made(None)


def test_a_missing_split_is_named_with_what_belongs_there(root: Path) -> None:
    shutil.rmtree(root / "val")
    with pytest.raises(InputError) as error:
        made(root)
    assert str(error.value) == (
        f"there is no folder {root}/val: pictures belong in {root}/val/CLASS/NAME.jpg; "
        "set workload.validation_examples to 0 to train without"
    )
    assert made(root, validation_examples=0).validation_size == 0
    with pytest.raises(
        InputError, match=r"no folder .*/train/train: .*give the folder above train/ with --data"
    ):
        made(root / "train")


def test_the_number_of_classes_must_be_the_models(root: Path) -> None:
    with pytest.raises(
        InputError, match=r"has 3 classes, the workload's option classes is 4: set workload.classes to 3"
    ):
        made(root, classes=4)


def test_one_class_is_refused_since_no_model_can_have_one(root: Path) -> None:
    for name in ("bee", "cat"):
        shutil.rmtree(root / "train" / name)
    with pytest.raises(InputError, match=r"train has only one class folder, ant: training needs two or more"):
        made(root)


def test_a_class_without_pictures_is_named(root: Path) -> None:
    shutil.rmtree(root / "train" / "bee")
    (root / "train" / "bee" / "nested").mkdir(parents=True)
    with pytest.raises(InputError, match=r"train/bee has no pictures \(\.jpg"):
        made(root)


def test_a_class_that_is_only_validated_on_is_named(root: Path) -> None:
    save(root / "val" / "dog" / "a.png", (1, 1, 1))
    with pytest.raises(InputError, match=r"val/dog is not a class of .*/train"):
        made(root)


def test_a_folder_without_classes_says_so(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    with pytest.raises(InputError, match="has no folders of classes"):
        folder.read(tmp_path, 3, held_out=0)


def truncated() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((64, 64), 50).convert("RGB").save(file, "JPEG")
    return file.getvalue()[:-600]


@pytest.mark.parametrize(
    "content",
    [b"", b"no picture", truncated(), b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EOF\n"],
    ids=["empty", "text", "truncated", "postscript"],
)
@pytest.mark.parametrize("workers", [0, 1])
def test_a_corrupt_picture_is_named_by_whoever_decodes_it(root: Path, content: bytes, workers: int) -> None:
    path = root / "train" / "bee" / "1.JPEG"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        next(loader.batches(made(root), spec(batch_per_rank=9, workers=workers), 0, 1))
    described = describe(error.value)
    traceback.clear_frames(error.tb)  # or the loader would live until the last test is done
    assert described.startswith("InputError in a loader process: " if workers else "InputError: ")
    assert f"{path} cannot be decoded as a picture" in described
    assert described.endswith("replace or remove it")


def test_of_what_pillow_doubts_only_an_error_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    large, corrupt = tmp_path / "large.png", tmp_path / "corrupt.tiff"
    save(large, (255, 0, 0))
    save(corrupt, (255, 0, 0))
    corrupt.write_bytes(corrupt.read_bytes()[:-20])
    monkeypatch.setattr(
        Image, "MAX_IMAGE_PIXELS", 1000
    )  # of which it warns, and refuses more than twice as many
    assert pictures.decode(large).size == (40, 30)
    with pytest.raises(InputError, match="cannot be decoded"):
        pictures.decode(corrupt)
    assert list(recwarn) == []


def test_the_loss_falls_on_real_files(root: Path) -> None:
    workload = made(root)
    torch.manual_seed(0)
    model = workload.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for batch in loader.batches(workload, spec(batch_per_rank=9), 0, 12):
        loss = workload.loss(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
