"""Small files in the published formats of AG News and IMDB, as a user's --data folder holds the real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bench import workloads
from bench.common.errors import InputError
from bench.data.text import ag_news, imdb
from bench.workloads import Workload

NEWS = (
    '"3","Wall St. Bears Claw Back","Short-sellers, a ""dwindling"" band, are seeing green."\n'
    '"1","Two lines","The first\nand the second"\n'
    '"4","Café opens",""\n'
)
REVIEWS = (
    "review,sentiment\n"
    '"Good, ""really"" good.<br /><br />Very.",positive\n'
    "Bad.,negative\n"
    "Fine,positive\n"
    "Dull,negative\n"
)


@pytest.fixture
def news(tmp_path: Path) -> Path:
    folder = tmp_path / "ag_news_csv"
    folder.mkdir()
    for name in ("train.csv", "test.csv"):
        (folder / name).write_text(NEWS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    (tmp_path / "IMDB Dataset.csv").write_text(REVIEWS)
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two reviews of each side and split."""
    for split in ("train", "test"):
        for side in ("pos", "neg"):
            place = tmp_path / "aclImdb" / split / side
            place.mkdir(parents=True)
            for number in range(2):
                (place / f"{number}_{9 - number}.txt").write_text(f"{split} {side} {number}<br />.")
    return tmp_path


def made(source: str, root: Path, **options: object) -> Workload:
    kind = workloads.load("text_classifier")
    workload = kind(kind.Options(**options), source, str(root), 0)
    workload.prepare()
    return workload


def refusal(read: Callable[[Path, int], object], root: Path) -> str:
    with pytest.raises(InputError) as error:
        read(root, 10)
    return str(error.value)


def test_quoted_commas_quotes_and_line_ends_of_ag_news_are_read(news: Path) -> None:
    train, test = ag_news.read(news, 2)
    assert train == (
        [
            'Wall St. Bears Claw Back Short-sellers, a "dwindling" band, are seeing green.',
            "Two lines The first\nand the second",
            "Café opens ",
        ],
        [2, 0, 3],
    )
    assert test == (train[0][:2], [2, 0])


def test_a_copy_of_ag_news_with_a_header_is_read_alike(news: Path) -> None:
    plain = ag_news.read(news, 10)
    (news / "ag_news_csv/train.csv").write_text("Class Index,Title,Description\n" + NEWS, encoding="utf-8")
    assert ag_news.read(news, 10) == plain


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'"5","a","b"\n', "line 1: class '5': AG News has 1, 2, 3 and 4, in the first column"),
        (b'"1","a\nb","c"\n"01","a","b"\n', "line 3: class '01'"),
        (b'"1","a","b"\n"2","a"\n', "line 2: 2 columns, 3 expected"),
        (b'"1","a","b"\n\n', "line 2: 0 columns, 3 expected"),
        (b'"1","a","b"\n"2","a" b","c"\n', "line 2: ',' expected after '\"'"),
        (b'"1","a","b"\n"2","never closed\n', "line 2: unexpected end of data"),
        (b'"1","a","b"\n"2","caf\xe9","c"\n', "line 2: byte 0xe9 is not UTF-8"),
        (b"", "has no rows"),
    ],
)
def test_what_is_wrong_in_a_file_of_ag_news_is_named_with_its_line(
    news: Path, content: bytes, message: str
) -> None:
    path = news / "ag_news_csv/train.csv"
    path.write_bytes(content)
    said = refusal(ag_news.read, news)
    assert said.startswith(str(path))
    assert message in said


@pytest.mark.parametrize("name", ["train.csv", "test.csv"])
def test_a_missing_file_of_ag_news_is_named_with_the_folder_where_it_belongs(news: Path, name: str) -> None:
    (news / "ag_news_csv" / name).unlink()
    assert refusal(ag_news.read, news) == (
        f"no {name} in {news}/ag_news_csv: put AG News' train.csv and test.csv there, or give the folder above "
        "ag_news_csv/ with --data"
    )


def test_the_folder_of_imdb_alternates_between_negative_and_positive_reviews(folder: Path) -> None:
    (texts, classes), test = imdb.read(folder, 3)
    assert texts == ["train neg 0 .", "train pos 0 .", "train neg 1 .", "train pos 1 ."]
    assert classes == [0, 1, 0, 1]
    assert test == (["test neg 0 .", "test pos 0 .", "test neg 1 ."], [0, 1, 0])


def test_the_first_half_of_imdbs_csv_file_trains_and_the_second_is_held_out(reviews: Path) -> None:
    train, test = imdb.read(reviews, 1)
    assert train == (['Good, "really" good.  Very.', "Bad."], [1, 0])
    assert test == (["Fine"], [1])


def test_the_folder_of_imdb_wins_over_the_csv_file(folder: Path) -> None:
    (folder / "IMDB Dataset.csv").write_text(REVIEWS)
    assert imdb.read(folder, 0)[0][0][0] == "train neg 0 ."


def test_without_any_file_of_imdb_both_ways_are_said(tmp_path: Path) -> None:
    assert refusal(imdb.read, tmp_path) == (
        f"neither aclImdb/ nor 'IMDB Dataset.csv' in {tmp_path}: unpack aclImdb_v1.tar.gz there, or put the CSV file "
        "with the columns review and sentiment there, or give the folder above with --data"
    )


def test_a_folder_of_imdb_that_lacks_reviews_is_named(folder: Path) -> None:
    (folder / "aclImdb/test/neg/1_8.txt").unlink()
    assert f"{folder}/aclImdb/test: 1 reviews in neg and 2 in pos" in refusal(imdb.read, folder)
    (folder / "aclImdb/test/neg/0_9.txt").unlink()
    assert f"no reviews *.txt in {folder}/aclImdb/test/neg" in refusal(imdb.read, folder)


def test_a_review_that_is_not_utf_8_is_named(folder: Path) -> None:
    (folder / "aclImdb/train/pos/0_9.txt").write_bytes(b"one\ntwo \xff")
    assert f"{folder}/aclImdb/train/pos/0_9.txt, line 2: byte 0xff" in refusal(imdb.read, folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,label\na,positive\n", "line 1: 'label' in the last column, where the header review,sentiment"),
        ("review,sentiment\na,good\n", "line 2: 'good' in the last column, where negative or positive"),
        ('review,sentiment\n"a\nb",positive\nc\n', "line 4: 1 columns, 2 expected"),
        ("review,sentiment\na,positive\n", "has fewer than two reviews"),
    ],
)
def test_what_is_wrong_in_the_csv_file_of_imdb_is_named_with_its_line(
    reviews: Path, content: str, message: str
) -> None:
    (reviews / "IMDB Dataset.csv").write_text(content)
    assert message in refusal(imdb.read, reviews)


@pytest.mark.parametrize("source", ["ag_news", "imdb"])
def test_a_real_source_needs_a_folder(source: str) -> None:
    kind = workloads.load("text_classifier")
    with pytest.raises(
        InputError, match=f"source {source} reads .*: give DIR with --data, or use source synthetic"
    ):
        kind(kind.Options(), source, None, 0)


def test_the_workload_trains_and_validates_on_ag_news(news: Path) -> None:
    workload = made("ag_news", news, sequence_length=8, validation_examples=2)
    assert (workload.dataset_size, workload.validation_size, workload.tokens_per_example) == (3, 2, 8)
    batch = workload.batch(torch.tensor([1, 0]), torch.tensor([7, 8]))
    assert batch["labels"].tolist() == [0, 2]
    # "the" is the only word that comes twice: the first id after the three special ones
    assert (batch["tokens"][0] == 3).tolist() == [False, False, True, False, False, True, False, False]
    assert workload.model().get_submodule("head").weight.shape[0] == 4


@pytest.mark.parametrize("preset", ["ag_news_small", "imdb"])
def test_imdb_has_two_classes_whatever_the_preset(reviews: Path, preset: str) -> None:
    workload = made("imdb", reviews, preset=preset, d_model=8)
    assert workload.model().get_submodule("head").weight.shape[0] == 2
    logits = workload.evaluate(workload.model(), workload.validation_batch([0, 1]))[0]
    assert logits.shape == (2,)


@pytest.mark.parametrize(("source", "stated", "has"), [("imdb", 4, 2), ("ag_news", 2, 4)])
def test_a_number_of_classes_that_contradicts_the_source_is_refused(
    tmp_path: Path, source: str, stated: int, has: int
) -> None:
    kind = workloads.load("text_classifier")
    with pytest.raises(
        InputError, match=f"classes is {stated}, but source {source} has {has}: remove classes"
    ):
        kind(kind.Options(classes=stated), source, str(tmp_path), 0)
    assert kind(kind.Options(classes=has), source, str(tmp_path), 0)
