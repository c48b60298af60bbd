"""AG News (Zhang, Zhao & LeCun 2015): news in four classes, from its published CSV files, which are not downloaded."""

from __future__ import annotations

from pathlib import Path

from bench.data import strict_csv
from bench.errors import InputError

FOLDER = "ag_news_csv"
"""What the published archive unpacks to."""
_HEADER = ["Class Index", "Title", "Description"]
"""First row of copies that have one; the published files have none."""

Split = tuple[list[str], list[int]]
"""Texts, and their classes from 0."""


def read(root: Path, held_out: int) -> tuple[Split, Split]:
    """Training split, and the first `held_out` rows of the test split; title and description are one text.

    Raises InputError naming a missing file, or the line that is wrong."""
    paths = [_find(root, name) for name in ("train.csv", "test.csv")]
    texts, classes = _split(paths[0])
    test_texts, test_classes = _split(paths[1])
    return (texts, classes), (test_texts[:held_out], test_classes[:held_out])


def _find(root: Path, name: str) -> Path:
    path = root / FOLDER / name
    if not path.is_file():
        raise InputError(
            f"no {name} in {path.parent}: put AG News' train.csv and test.csv there, or give the folder above "
            f"{FOLDER}/ by --data"
        )
    return path


def _split(path: Path) -> Split:
    texts, classes = [], []
    for line, (name, title, description) in strict_csv.rows(path, columns=3):
        if line == 1 and [name, title, description] == _HEADER:
            continue
        if name not in ("1", "2", "3", "4"):
            raise InputError(
                f"{path}, line {line}: class {name!r}: AG News has 1, 2, 3 and 4, in the first column"
            )
        texts.append(f"{title} {description}")
        classes.append(int(name) - 1)
    if not texts:
        raise InputError(f"{path} has no rows: load it again")
    return texts, classes
