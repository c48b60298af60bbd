"""Write this folder's IDX files from scikit-learn's copy: `python -m bench.data.digits.make`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

from bench.data.images import idx

ONE_IN = 5


def main(root: Path = Path(__file__).parent) -> None:
    """Write 8x8 images with 17 grey levels, scaled from 0..16 to 0..255. Every fifth image of a class is for
    testing."""
    digits = load_digits()
    images = np.rint(digits.images * (255 / 16)).astype(np.uint8)
    labels = digits.target.astype(np.uint8)
    test = np.zeros(len(labels), dtype=bool)
    # By class: the digits follow each other in turns, so every fifth image of all would miss some classes.
    for label in range(10):
        test[np.flatnonzero(labels == label)[ONE_IN // 2 :: ONE_IN]] = True
    raw = root / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for name, chosen in (("train", ~test), ("t10k", test)):
        idx.write(raw / f"{name}-images-idx3-ubyte", images[chosen])
        idx.write(raw / f"{name}-labels-idx1-ubyte", labels[chosen])


if __name__ == "__main__":
    main()
