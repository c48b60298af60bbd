"""Turns a stored picture into pixels: decodes, cuts, scales and mirrors one example at a time, in the loader.

Training uses the random cut of ImageNet's recipes (8 to 100 % of the area, 3:4 to 4:3; Szegedy et al. 2015). Four
numbers of the example determine it, without repeated attempts: a cut that would cross the border ends there. Validation
uses the middle.
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

from bench.common.errors import InputError

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".webp", ".tif", ".tiff")
_FORMATS = ("JPEG", "PNG", "BMP", "PPM", "WEBP", "TIFF")
"""The only formats that Pillow may open; it would pass some others to external programs."""
DRAWS = 5
"""Uniform numbers for a random cut: area, shape, two for the place, mirror."""
_MIDDLE = 224 / 256
"""Part of the shorter side that validation uses."""

Box = tuple[float, float, float, float]
"""Left, upper, right and lower border in pixels."""

Image.preinit()  # imports the decoders here once, not in every new loader process


def decode(stored: bytes | Path) -> Image.Image:
    """A picture in RGB, in memory. Raises InputError with the file if it cannot be decoded."""
    try:
        with warnings.catch_warnings():  # only errors show that a picture is broken
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
    """The random cut of a picture of this size."""
    area = width * height * (0.08 + 0.92 * draws[0])
    shape = math.exp(math.log(3 / 4) + draws[1] * math.log(16 / 9))
    wide, high = min(width, math.sqrt(area * shape)), min(height, math.sqrt(area / shape))
    left, upper = draws[2] * (width - wide), draws[3] * (height - high)
    return left, upper, min(width, left + wide), min(height, upper + high)


def _scaled(picture: Image.Image, size: int, box: Box) -> torch.Tensor:
    small = picture.resize((size, size), Image.Resampling.BILINEAR, box)
    return torch.from_numpy(np.array(small))
