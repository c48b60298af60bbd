"""IMDB film reviews (Maas et al. 2011), negative or positive: the published folder, or the widespread CSV file. Nothing
is downloaded."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from bench.common.errors import InputError
from bench.data.text import strict_csv

FOLDER = "aclImdb"
"""Folder in the published archive."""
CSV_FILE = "IMDB Dataset.csv"
_SIDES = ("neg", "pos")
_SENTIMENTS = {"negative": 0, "positive": 1}

Split = tuple[list[str], list[int]]
"""Texts, and 0 for negative, 1 for positive."""


def read(root: Path, held_out: int) -> tuple[Split, Split]:
    """Training split, and `held_out` reviews to validate on. If folder and CSV file exist, the folder is used.

    Raises InputError with the missing file, or with the file and the invalid line."""
    if (root / FOLDER).is_dir():
        return _of_folder(root / FOLDER / "train", None), _of_folder(root / FOLDER / "test", held_out)
    if (root / CSV_FILE).is_file():
        return _of_file(root / CSV_FILE, held_out)
    raise InputError(
        f"neither {FOLDER}/ nor {CSV_FILE!r} in {root}: unpack aclImdb_v1.tar.gz there, or put the CSV file with "
        "the columns review and sentiment there, or give the folder above with --data"
    )


def _of_folder(folder: Path, limit: int | None) -> Split:
    """Negative and positive reviews alternately, so that any part of them is balanced."""
    sides = [sorted((folder / side).glob("*.txt")) for side in _SIDES]
    for side, files in zip(_SIDES, sides, strict=True):
        if not files:
            raise InputError(f"no reviews *.txt in {folder / side}: unpack aclImdb_v1.tar.gz again")
    if len(sides[0]) != len(sides[1]):
        raise InputError(
            f"{folder}: {len(sides[0])} reviews in neg and {len(sides[1])} in pos, which must be equal: "
            "unpack aclImdb_v1.tar.gz again"
        )
    files = list(chain.from_iterable(zip(*sides, strict=True)))[:limit]
    return [_clean(strict_csv.decode(file)) for file in files], [place % 2 for place in range(len(files))]


def _of_file(path: Path, held_out: int) -> tuple[Split, Split]:
    """Both splits of a file that has none: its first half, the published number for training, then `held_out`."""
    texts, classes = [], []
    for line, (review, sentiment) in strict_csv.rows(path, columns=2):
        if line == 1 and [review, sentiment] == ["review", "sentiment"]:
            continue
        if line == 1 or sentiment not in _SENTIMENTS:
            expected = "the header review,sentiment" if line == 1 else "negative or positive"
            raise InputError(
                f"{path}, line {line}: {sentiment[:40]!r} in the last column, where {expected} is expected"
            )
        texts.append(_clean(review))
        classes.append(_SENTIMENTS[sentiment])
    half = len(texts) // 2
    if half == 0:
        raise InputError(f"{path} has fewer than two reviews: download it again")
    end = half + held_out
    return (texts[:half], classes[:half]), (texts[half:end], classes[half:end])


def _clean(review: str) -> str:
    return review.replace("<br />", " ")
