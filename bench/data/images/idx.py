"""IDX, the format of MNIST's files: 2 zero bytes, type, number of dimensions, big-endian sizes, then the bytes."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from bench.common.errors import InputError

_UINT8 = 8


def write(path: Path, values: npt.NDArray[np.uint8]) -> None:
    """Write an array of bytes, any shape."""
    header = struct.pack(f">BBBB{values.ndim}I", 0, 0, _UINT8, values.ndim, *values.shape)
    path.write_bytes(header + values.tobytes())


def read(path: Path) -> npt.NDArray[np.uint8]:
    """The bytes in the header's shape; `.gz` is decompressed.

    Raises InputError, with the path and both sizes, for another format or a truncated file."""
    try:
        with cast("BinaryIO", gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as file:
            start = file.read(4)
            if len(start) < 4 or start[:3] != bytes([0, 0, _UINT8]):
                raise InputError(
                    f"{path} is not an IDX file of bytes: it begins with {start.hex(' ') or 'nothing'}"
                )
            sizes = struct.unpack(f">{start[3]}I", file.read(4 * start[3]))
            held = bytearray(file.read())
    except (gzip.BadGzipFile, EOFError, struct.error) as error:
        raise InputError(f"{path} is damaged ({error}): download it again") from error
    if len(held) != math.prod(sizes):
        raise InputError(
            f"{path} is damaged: its header promises {' x '.join(map(str, sizes))} = {math.prod(sizes)} bytes, "
            f"it has {len(held)}: download it again"
        )
    return np.frombuffer(held, np.uint8).reshape(sizes)
