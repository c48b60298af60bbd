"""Words become ids, and generated texts have a class that can be learnt from their words."""

from __future__ import annotations

import math
import random

import pytest
import torch

from bench.data.synthetic import marked_text
from bench.data.text.vocabulary import CLASS, PADDING, SPECIALS, UNKNOWN, Vocabulary

TEXTS = ["B b b c C a A d", "e d", ""]


def test_frequent_words_come_first_and_equally_frequent_ones_by_the_alphabet() -> None:
    words = Vocabulary(TEXTS, 100)
    assert len(words) == SPECIALS + 5
    assert words.rows(["b a c d e"], 8, class_token=False).tolist() == [[3, 4, 5, 6, 7, *[PADDING] * 3]]


def test_the_order_of_the_texts_does_not_matter_to_the_vocabulary() -> None:
    shuffled = [*TEXTS]
    random.Random(1).shuffle(shuffled)
    rows = [Vocabulary(texts, 7).rows(TEXTS, 6, class_token=False) for texts in (TEXTS, shuffled)]
    assert torch.equal(*rows)


def test_words_beyond_the_vocabulary_are_unknown_and_no_id_is_beyond_its_size() -> None:
    rows = Vocabulary(TEXTS, 6).rows(["a b c d e never"], 6, class_token=False)
    assert rows.tolist() == [[4, 3, 5, UNKNOWN, UNKNOWN, UNKNOWN]]


def test_long_texts_are_cut_and_an_empty_one_is_one_unknown_word() -> None:
    rows = Vocabulary(TEXTS, 100).rows(["b a c", "", "..."], 2, class_token=False)
    assert rows.dtype == torch.int32
    assert rows.tolist() == [[3, 4], [UNKNOWN, PADDING], [UNKNOWN, PADDING]]


def test_a_class_token_stands_first_and_counts() -> None:
    rows = Vocabulary(TEXTS, 100).rows(["b a c", ""], 3, class_token=True)
    assert rows.tolist() == [[CLASS, 3, 4], [CLASS, PADDING, PADDING]]


def test_no_texts_make_no_rows() -> None:
    assert Vocabulary(TEXTS, 100).rows([], 3, class_token=False).shape == (0, 3)


def test_words_are_lower_case_letters_of_any_alphabet_with_apostrophes_inside() -> None:
    spelt = ["Don't", "don't", "ÉTÉ été", "été 'quoted'"]
    words = Vocabulary(spelt, 100)
    rows = words.rows(["été don't quoted"], 3, class_token=False)
    assert len(words) == SPECIALS + 3
    assert rows.tolist() == [[3, 4, 5]]


def generate(**options: int) -> tuple[torch.Tensor, torch.Tensor]:
    sizes = {"count": 2_000, "length": 32, "vocab_size": 500, "classes": 4, "seed": 0, **options}
    return marked_text.generate(
        sizes["count"],
        sizes["length"],
        sizes["vocab_size"],
        sizes["classes"],
        sizes["seed"],
        class_token=False,
    )


def test_generated_texts_are_a_function_of_their_seed() -> None:
    assert all(torch.equal(*pair) for pair in zip(generate(), generate(), strict=True))
    assert not torch.equal(generate()[0], generate(seed=1)[0])


def test_generated_texts_are_between_half_and_all_of_the_length_and_padded_at_the_end() -> None:
    tokens, _ = generate()
    lengths = (tokens != PADDING).sum(dim=1)
    assert (int(lengths.min()), int(lengths.max())) == (16, 32)
    assert torch.equal(tokens != PADDING, torch.arange(32) < lengths[:, None])


def test_generated_classes_are_even_and_the_markers_decide_them() -> None:
    tokens, labels = generate()
    assert int(torch.bincount(labels, minlength=4).min()) > 400
    markers = torch.stack(
        [((tokens - SPECIALS) // marked_text.MARKERS == kind).sum(dim=1) for kind in range(4)], dim=1
    )
    most = markers.max(dim=1).values
    assert torch.equal(markers[torch.arange(len(labels)), labels], most)


def test_generated_words_follow_zipfs_law() -> None:
    tokens, _ = generate(count=20_000)
    first = SPECIALS + 4 * marked_text.MARKERS
    counts = torch.bincount(tokens.flatten(), minlength=500)[first:].double()
    for rank in (2, 4, 8, 16):
        assert float(counts[rank - 1] / counts[0]) == pytest.approx(math.log2(1 + 1 / rank), rel=0.1)
    assert int(tokens.max()) < 500


def test_the_smallest_vocabulary_has_room_for_the_most_classes() -> None:
    tokens, labels = generate(vocab_size=128, classes=16, length=8)
    assert int(tokens.max()) < 128
    assert int(labels.max()) == 15


def test_a_vocabulary_knows_the_rows_of_its_own_texts() -> None:
    words = Vocabulary(TEXTS, 6)
    for length, first in ((2, False), (4, True), (9, False)):
        own = words.own_rows(length, class_token=first)
        assert torch.equal(own, words.rows(TEXTS, length, class_token=first))
