"""AG News (Zhang, Zhao & LeCun 2015): news in four classes, from its published CSV files; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

from bench.common.errors import InputError
from bench.data.text import strict_csv

FOLDER = "ag_news_csv"
"""Folder in the published archive."""
_HEADER = ["Class Index", "Title", "Description"]
"""Header of some copies; the published files have none."""

Split = tuple[list[str], list[int]]
"""Texts, and their classes from 0."""


def read(root: Path, held_out: int) -> tuple[Split, Split]:
    """Training split, and the first `held_out` rows of the test split; title and description are one text.

    Raises InputError with a missing file, or with the invalid line."""
    paths = [root / FOLDER / name for name in ("train.csv", "test.csv")]
    for path in paths:
        if not path.is_file():
            raise InputError(
                f"no {path.name} in {path.parent}: put AG News' train.csv and test.csv there, or give the folder above "
                f"{FOLDER}/ with --data"
            )
    texts, classes = _split(paths[0])
    test_texts, test_classes = _split(paths[1])
    return (texts, classes), (test_texts[:held_out], test_classes[:held_out])


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
        raise InputError(f"{path} has no rows: download it again")
    return texts, classes
