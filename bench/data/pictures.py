"""A stored picture becomes pixels: decoded, cut, scaled and mirrored, one example at a time, in the loader.

Training cuts at random as ImageNet's recipes do (8 to 100 % of the area, 3:4 to 4:3; Szegedy et al. 2015), by four
numbers of the example instead of attempts: what would reach over the border is cut there. Validation takes the middle.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from bench.errors import InputError

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".webp", ".tif", ".tiff")
_FORMATS = ("JPEG", "PNG", "BMP", "PPM", "WEBP", "TIFF")
"""Pillow is asked for no other: it would hand some to outside programs."""
DRAWS = 5
"""Uniform numbers that a random cut takes: area, shape, two of place, mirror."""
_MIDDLE = 224 / 256
"""Share of the shorter side that validation sees."""

Box = tuple[float, float, float, float]
"""Left, upper, right and lower border in pixels."""

Image.preinit()  # or every new loader process would import the decoders again


def decode(stored: bytes | Path) -> Image.Image:
    """A picture in RGB, whole in memory. Raises InputError naming a file that is none."""
    try:
        with warnings.catch_warnings():  # an error says it better, and without one the picture is good enough
            warnings.simplefilter("ignore")
            with Image.open(
                io.BytesIO(stored) if isinstance(stored, bytes) else stored, formats=_FORMATS
            ) as file:
                return file.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        name = "a generated picture" if isinstance(stored, bytes) else stored
        raise InputError(
            f"{name} cannot be decoded as a picture ({type(error).__name__}): replace or remove it"
        ) from error


def random_cut(picture: Image.Image, size: int, draws: Sequence[float]) -> torch.Tensor:
    """uint8 [size, size, 3]; `draws`: DRAWS numbers in [0, 1)."""
    pixels = _scaled(picture, size, random_box(picture.width, picture.height, draws))
    return pixels.flip(1) if draws[4] < 0.5 else pixels


def middle_cut(picture: Image.Image, size: int) -> torch.Tensor:
    """uint8 [size, size, 3]: the middle square, as if scaled to size x 256 / 224 and cut."""
    side = min(picture.width, picture.height) * _MIDDLE
    left, upper = (picture.width - side) / 2, (picture.height - side) / 2
    return _scaled(picture, size, (left, upper, left + side, upper + side))


def random_box(width: int, height: int, draws: Sequence[float]) -> Box:
    """Where a picture of this size is cut."""
    area = width * height * (0.08 + 0.92 * draws[0])
    shape = math.exp(math.log(3 / 4) + draws[1] * math.log(16 / 9))
    wide, high = min(width, math.sqrt(area * shape)), min(height, math.sqrt(area / shape))
    left, upper = draws[2] * (width - wide), draws[3] * (height - high)
    return left, upper, min(width, left + wide), min(height, upper + high)


def _scaled(picture: Image.Image, size: int, box: Box) -> torch.Tensor:
    small = picture.resize((size, size), Image.Resampling.BILINEAR, box)
    return torch.from_numpy(np.array(small))
