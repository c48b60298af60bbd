"""resnet50 and vit_b_16: torchvision's models on pictures that are generated, on the device or as JPEG."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torchvision.models import ResNet50_Weights, ViT_B_16_Weights, ViT_L_16_Weights

from bench import workloads
from bench.common.errors import InputError
from bench.data import loader
from bench.data.images import encoded as encoded_images
from bench.data.images import pictures
from bench.data.images.generated import GeneratedImages
from bench.train.rank import _couples_examples
from tests.unit.workloads.runs import SMALL, spec, workload
from tests.unit.workloads.test_loader import equal

BOTH = ["resnet50", "vit_b_16"]
LARGE = {"layers": 24, "heads": 16, "hidden_dim": 1024, "mlp_dim": 4096}


def on_meta(name: str, **options: Any) -> tuple[Any, torch.nn.Module]:
    kind = workloads.load(name)
    made = kind(kind.Options(**options), "synthetic", None, 0)
    with torch.device("meta"):
        return made, made.model()


def encoded(name: str, *, seed: int = 0, **options: Any) -> Any:
    """A prepared workload whose pictures are JPEGs of 48 pixels."""
    kind = workloads.load(name)
    made = kind(kind.Options(**{**SMALL[name][1], "stored_size": 48, **options}), "encoded", None, seed)
    made.prepare()
    return made


@pytest.mark.parametrize(
    ("name", "options", "published", "count"),
    [
        ("resnet50", {}, ResNet50_Weights.IMAGENET1K_V1, 25_557_032),
        ("vit_b_16", {}, ViT_B_16_Weights.IMAGENET1K_V1, 86_567_656),
        ("vit_b_16", LARGE, ViT_L_16_Weights.IMAGENET1K_V1, 304_326_632),
    ],
)
def test_the_models_have_their_published_sizes(
    name: str, options: dict[str, Any], published: Any, count: int
) -> None:
    _, model = on_meta(name, **options)
    assert sum(p.numel() for p in model.parameters()) == count == published.meta["num_params"]


@pytest.mark.parametrize(("name", "units"), [("resnet50", 16), ("vit_b_16", 12)])
def test_a_thousand_scores_come_out_and_each_residual_block_is_a_unit(name: str, units: int) -> None:
    made, model = on_meta(name)
    assert model(torch.empty(2, 3, 224, 224, device="meta")).shape == (2, 1000)
    assert len(made.blocks(model)) == units


def test_batchnorm_couples_the_examples_of_resnet50_and_nothing_those_of_vit_b_16() -> None:
    assert [_couples_examples(*on_meta(name)) for name in BOTH] == [True, False]


@pytest.mark.parametrize("channels_last", [True, False])
def test_channels_last_reaches_every_convolution_and_no_parameter(channels_last: bool) -> None:
    made = workload("resnet50", channels_last=channels_last, image_size=64)
    model, seen = made.model(), set()
    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d) and module.kernel_size == (3, 3):
            module.register_forward_pre_hook(
                lambda _, inputs: seen.add(inputs[0].is_contiguous(memory_format=torch.channels_last))
            )
    made.loss(model, made.batch(torch.arange(4), torch.arange(4)))
    assert seen == {channels_last}
    assert all(parameter.is_contiguous() for parameter in model.parameters())


def test_both_layouts_have_the_same_loss() -> None:
    losses = []
    for channels_last in (True, False):
        made = workload("resnet50", channels_last=channels_last)
        torch.manual_seed(0)
        losses.append(made.loss(made.model(), made.batch(torch.arange(8), torch.arange(8))))
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=0)


def test_what_travels_to_the_device_is_two_numbers_for_each_picture() -> None:
    batch = workload("resnet50").batch(torch.tensor([3, 511, 4]), torch.tensor([0, 1, 2]))
    assert {name: tensor.tolist() for name, tensor in batch.items()} == {
        "numbers": [3, 511, 4],
        "labels": [3, 3, 0],
    }


def test_a_generated_picture_hangs_on_its_number_and_the_data_seed_and_not_on_its_batch() -> None:
    made = GeneratedImages(size=32, classes=10, examples=100, held_out=20, seed=1)
    numbers = torch.arange(100)
    whole = made.pixels(made.batch(numbers, numbers))
    parts = [made.pixels(made.batch(part, part)) for part in numbers.split(30)]
    torch.testing.assert_close(torch.cat(parts), whole)
    other = GeneratedImages(size=32, classes=10, examples=100, held_out=20, seed=2)
    assert not torch.allclose(other.pixels(other.batch(numbers, numbers)), whole, atol=0.5)
    assert (float(whole.mean()), float(whole.std())) == pytest.approx((0, 1), abs=0.15)


def test_generated_pictures_of_a_class_are_more_alike_than_others_and_none_is_held_out_too() -> None:
    made = GeneratedImages(size=8, classes=5, examples=500, held_out=100, seed=0)
    numbers = torch.arange(500)
    batch, held_out = made.batch(numbers, numbers), made.validation_batch(list(range(100)))
    trained, validated = made.pixels(batch).flatten(1), made.pixels(held_out).flatten(1)
    means = torch.stack([trained[batch["labels"] == label].mean(dim=0) for label in range(5)])
    assert torch.equal(torch.cdist(validated, means).argmin(dim=1), held_out["labels"])
    assert float(torch.cdist(validated, trained).min()) > 0.1


@pytest.mark.parametrize("workers", [1, 2])
def test_loader_processes_decode_the_same_pictures(workers: int) -> None:
    made = encoded("vit_b_16", train_examples=20)
    alone = list(loader.batches(made, spec(batch_per_rank=8, accumulate=2), 0, 4))
    run = spec(batch_per_rank=8, accumulate=2, workers=workers, prefetch=1)
    assert equal(alone, list(loader.batches(made, run, 0, 4)))
    assert alone[0]["images"].shape == (4, 16, 16, 3)


@pytest.mark.parametrize(("world", "accumulate"), [(2, 1), (4, 2)])
def test_pictures_are_cut_and_mirrored_alike_at_every_world_size(world: int, accumulate: int) -> None:
    made = encoded("vit_b_16", train_examples=20)
    [alone] = loader.batches(made, spec(batch_per_rank=16), 0, 1)
    run = spec(batch_per_rank=16 // world, world=world, accumulate=accumulate)
    parts = [part for rank in range(world) for part in loader.batches(made, run, rank, 1)]
    together = {name: torch.cat([part[name] for part in parts]) for name in alone}
    assert equal([together], [alone])


def test_a_picture_is_cut_otherwise_in_the_next_epoch_and_under_another_seed() -> None:
    made = encoded("vit_b_16")
    cuts = [made.batch(torch.tensor([3]), torch.tensor([key]))["images"] for key in (3, 515)]
    cuts.append(encoded("vit_b_16", seed=1).batch(torch.tensor([3]), torch.tensor([3]))["images"])
    assert len({cut.numpy().tobytes() for cut in cuts}) == 3


def test_encoded_pictures_are_jpegs_of_the_stored_size_that_recur() -> None:
    train, held_out = encoded_images.generate(1_000, 3, 10, 64, 0)
    assert (len(train), len(held_out)) == (1_000, 3)
    assert train.stored(5)[:2] == b"\xff\xd8"
    assert train.stored(5) == train.stored(5 + 64 * 9)
    assert pictures.decode(train.stored(5)).size == (64, 64)
    assert len({train.stored(place) for place in range(64)} | {held_out.stored(0)}) == 65
    assert [train.label(place) for place in (0, 9, 10)] == [0, 9, 0]


@pytest.mark.parametrize("size", [(500, 375), (3, 900), (1, 1)])
def test_a_random_cut_lies_in_the_picture_and_has_the_recipes_area_and_shape(size: tuple[int, int]) -> None:
    for draws in torch.rand(200, 5, generator=torch.Generator().manual_seed(0)).tolist():
        left, upper, right, lower = pictures.random_box(*size, draws)
        assert 0 <= left < right <= size[0]
        assert 0 <= upper < lower <= size[1]
        if size == (500, 375) and right - left < 500 and lower - upper < 375:
            assert 0.08 <= (right - left) * (lower - upper) / (500 * 375) <= 1
            assert 0.75 <= (right - left) / (lower - upper) <= 4 / 3 + 1e-9


def test_half_of_the_pictures_are_mirrored() -> None:
    picture = pictures.Image.new("RGB", (8, 8))
    picture.putpixel((7, 0), (255, 0, 0))
    whole = (0.999999, 0.5, 0.0, 0.0)  # all of a square picture
    plain, mirrored = (pictures.random_cut(picture, 8, (*whole, mirror)) for mirror in (0.5, 0.49))
    assert torch.equal(plain.flip(1), mirrored)
    assert int(mirrored[0, 0, 0]) > 200


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("resnet50", {"layers": (3, 4, 6)}, r"layers is \[3, 4, 6\]: give the blocks of four stages"),
        (
            "vit_b_16",
            {"image_size": 100},
            "image_size is 100, patch_size 16: a picture must be a whole number",
        ),
        ("vit_b_16", {"heads": 10}, "hidden_dim is 768, heads 10: hidden_dim must be a multiple"),
    ],
)
def test_impossible_options_are_refused_with_the_numbers(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        workloads.load(name).Options(**options)
