from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest
import torch

from bench import workloads
from bench.common.errors import InputError
from bench.data import loader
from bench.data.synthetic import synthetic
from tests.unit.workloads.runs import spec, workload

NAMES = workloads.trained()


def train(name: str, steps: int, batch: int, learning_rate: float, **options: Any) -> list[float]:
    made = workload(name, **options)
    torch.manual_seed(0)
    model = made.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    losses = []
    for examples in loader.batches(made, spec(batch_per_rank=batch), 0, steps):
        loss = made.loss(model, examples)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def test_no_workload_module_imports_torch() -> None:
    program = (
        "import sys\n"
        "from bench import workloads\n"
        "for name in workloads.names():\n"
        "    kind = workloads.load(name)\n"
        "    if not workloads.runs_a_command(name):\n"  # which has no default command
        "        kind(kind.Options(), kind.sources[0], None, 0)\n"
        "print(sorted({'torch', 'torchvision', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("name", "steps", "batch", "learning_rate", "bound"),
    [
        ("spiral_mlp", 60, 128, 1e-2, 0.4),
        ("mnist_cnn", 20, 64, 2e-3, 0.5),
        ("ddpm_unet", 30, 16, 2e-3, 0.5),
        ("text_classifier", 60, 64, 1e-2, 0.6),
        ("transformer_lm", 50, 16, 5e-3, 0.6),
        ("resnet50", 8, 32, 1e-3, 0.6),
        ("vit_b_16", 30, 32, 3e-3, 0.5),
    ],
)
def test_the_loss_falls(name: str, steps: int, batch: int, learning_rate: float, bound: float) -> None:
    losses = train(name, steps, batch, learning_rate)
    assert losses[0] > 0.9
    assert sum(losses[-5:]) / 5 < bound * losses[0]


@pytest.mark.parametrize("name", NAMES)
def test_training_twice_gives_the_same_losses_to_the_bit(name: str) -> None:
    assert train(name, 4, 16, 1e-3) == train(name, 4, 16, 1e-3)


def test_dropout_trains_the_same_way_twice() -> None:
    dropped = train("ddpm_unet", 3, 8, 1e-3, dropout=0.1)
    assert dropped == train("ddpm_unet", 3, 8, 1e-3, dropout=0.1)
    assert dropped != train("ddpm_unet", 3, 8, 1e-3)


# BatchNorm couples the examples of a batch.
@pytest.mark.parametrize(
    "name", [name for name in NAMES if not getattr(workloads.load(name), "batch_norm", False)]
)
def test_the_mean_over_the_parts_of_a_batch_is_its_loss(name: str) -> None:
    made = workload(name)
    torch.manual_seed(0)
    model = made.model()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)  # a U-Net begins at zero, which would prove nothing
    places, keys = torch.arange(32), torch.arange(100, 132)
    with torch.no_grad():
        whole = made.loss(model, made.batch(places, keys))
        parts = [
            made.loss(model, made.batch(places[start : start + 8], keys[start : start + 8]))
            for start in range(0, 32, 8)
        ]
    torch.testing.assert_close(torch.stack(parts).mean(), whole, rtol=1e-5, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_the_validation_score_depends_on_the_example_alone(name: str) -> None:
    first, second = workload(name, seed=0), workload(name, seed=1)
    if not first.validation_size:  # there is no score
        return
    torch.manual_seed(0)
    model = first.model().eval()
    with torch.no_grad():
        loss, correct = first.evaluate(model, first.validation_batch(list(range(20))))
        again, _ = second.evaluate(model, second.validation_batch(list(range(10, 20))))
    assert loss.shape == (20,)
    torch.testing.assert_close(again, loss[10:], rtol=1e-5, atol=1e-6)
    assert correct is None or set(correct.tolist()) <= {0.0, 1.0}


def test_a_seed_changes_the_noise_and_not_the_images() -> None:
    first, second = workload("ddpm_unet", seed=0), workload("ddpm_unet", seed=1)
    batch = first.batch(torch.arange(8), torch.arange(8))
    assert torch.equal(second.batch(torch.arange(8), torch.arange(8))["images"], batch["images"])
    model = first.model()
    assert first.loss(model, batch).item() != second.loss(model, batch).item()
    other = workload("ddpm_unet", data_seed=1).batch(torch.arange(8), torch.arange(8))
    assert not torch.equal(other["images"], batch["images"])


def test_the_same_example_gets_other_noise_in_the_next_epoch() -> None:
    made = workload("ddpm_unet")
    model = made.model()
    losses = {
        made.loss(model, made.batch(torch.tensor([3]), torch.tensor([key]))).item() for key in (3, 4099, 8195)
    }
    assert len(losses) == 3


@pytest.mark.parametrize(
    ("name", "train_size", "validation_size"),
    [
        ("spiral_mlp", 8_000, 2_000),
        ("mnist_cnn", 1_438, 359),
        ("ddpm_unet", 4_096, 32),
        ("text_classifier", 4_096, 32),
        ("transformer_lm", 4_096, 32),
        ("resnet50", 512, 32),
        ("vit_b_16", 512, 32),
    ],
)
def test_training_and_held_out_examples_are_counted(name: str, train_size: int, validation_size: int) -> None:
    made = workload(name)
    assert (made.dataset_size, made.validation_size) == (train_size, validation_size)


def test_held_out_examples_are_not_trained_on() -> None:
    made = workload("ddpm_unet")
    trained = {
        image.numpy().tobytes() for image in made.batch(torch.arange(4096), torch.arange(4096))["images"]
    }
    held_out = {image.numpy().tobytes() for image in made.validation_batch(list(range(32)))["images"]}
    assert len(held_out) == 32
    assert not trained & held_out


def test_the_number_of_held_out_images_leaves_the_training_images_alone() -> None:
    few, many = workload("ddpm_unet", validation_examples=0), workload("ddpm_unet", validation_examples=100)
    places = torch.arange(4096)
    assert torch.equal(few.batch(places, places)["images"], many.batch(places, places)["images"])
    assert (few.validation_size, many.validation_size) == (0, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_channels": 48}, "base_channels is 48: GroupNorm needs a multiple of 32"),
        ({"channel_multipliers": ()}, "channel_multipliers is []"),
        ({"num_res_blocks": 0}, "num_res_blocks is 0"),
        ({"image_size": 30}, "3 resolutions halve it 2 times, so it must be a multiple of 4"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"validation_examples": -1}, "validation_examples is -1"),
        ({"preset": "large"}, "preset is 'large': there are small, original"),
    ],
)
def test_impossible_options_are_refused_with_the_numbers(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        workloads.load("ddpm_unet").Options(**options)
    assert message in str(error.value)


def test_an_mlp_needs_hidden_layers() -> None:
    with pytest.raises(InputError, match=r"hidden is \[64, 0\]"):
        workloads.load("spiral_mlp").Options(hidden=(64, 0))


@pytest.mark.parametrize("preset", ["small", "original"])
def test_options_record_the_sizes_of_their_preset_and_come_back_from_a_record(preset: str) -> None:
    kind = workloads.load("ddpm_unet").Options
    options = kind(preset=preset, base_channels=64)
    recorded = dataclasses.asdict(options)
    assert recorded["base_channels"] == 64
    assert recorded["channel_multipliers"] == {"small": (1, 1, 2), "original": (1, 2, 2, 2)}[preset]
    assert kind(**recorded) == options


def test_generated_images_are_bilinear_stretches_of_4_by_4_values() -> None:
    images, labels = synthetic.patterns(300, 10, 3, 16, 0)
    assert images.shape == (300, 3, 16, 16)
    assert labels[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    coarse = torch.nn.functional.interpolate(
        images[:, :, 1::4, 1::4].float() / 2
        + images[:, :, 2::4, 2::4].float() / 2,  # about the middle of each patch
        size=(16, 16),
        mode="bilinear",
        align_corners=False,
    )
    assert float((coarse - images.float()).abs().mean()) < 8


def test_generated_images_of_a_class_are_more_alike_than_others() -> None:
    images, labels = synthetic.patterns(1_000, 10, 3, 8, 0)
    means = torch.stack([images[labels == label].float().mean(dim=0) for label in range(10)])
    distances = (images[:, None].float() - means).flatten(2).norm(dim=2)
    assert float((distances.argmin(dim=1) == labels).float().mean()) == 1.0


def test_spiral_points_lie_on_arms_of_equal_size() -> None:
    points, arms = synthetic.spirals(9_000, 3, 0)
    assert torch.bincount(arms).tolist() == [3_000, 3_000, 3_000]
    assert float(points.norm(dim=1).max()) <= 1.0
