from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from bench import workloads
from bench.common.errors import InputError
from bench.data.synthetic import token_chains
from bench.data.text import text_bytes
from bench.workloads.transformer_lm import TransformerLmOptions
from tests.unit.workloads.runs import workload

TINY = {"d_model": 32, "layers": 1, "heads": 2, "sequence_length": 8}


def of_text(folder: Path | None, **options: Any) -> Any:
    kind = workloads.load("transformer_lm")
    root = None if folder is None else str(folder)
    made = kind(TransformerLmOptions(**{**TINY, **options}), "text", root, 0)
    made.prepare()
    return made


def test_the_files_of_a_folder_are_read_in_the_order_of_their_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.txt").write_bytes("grün".encode())
    (tmp_path / "c.txt").write_bytes(b"second")
    (tmp_path / "a.txt").write_bytes(b"first")
    (tmp_path / "a.md").write_bytes(b"not this one")
    (tmp_path / "folder.txt").mkdir()
    assert bytes(text_bytes.read(tmp_path).numpy()) == b"first\0" + "grün".encode() + b"\0second\0"


def test_a_folder_without_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"no \*\.txt file below {tmp_path}"):
        text_bytes.read(tmp_path)


def test_text_beyond_the_bound_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(text_bytes.LARGEST_BYTES + 1)  # takes no room on the disk
    with pytest.raises(InputError, match=r"536,870,913 bytes in 1 files, at most 536,870,912 are"):
        text_bytes.read(tmp_path)


def test_a_standard_library_without_its_source_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "decoder.pyc").write_bytes(b"\0")
    with pytest.raises(InputError, match=r"no source of Python's standard library in .*--data"):
        text_bytes.standard_library(tmp_path)


def test_modules_come_by_name_without_tests_and_strangers(tmp_path: Path) -> None:
    for name in ("json/__init__.py", "json/tests/test_json.py", "abc.py", "site-packages/x.py", "mine.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("pass")
    found = [str(path.relative_to(tmp_path)) for path in text_bytes.standard_library(tmp_path)]
    assert found == ["abc.py", "json/__init__.py"]


def test_without_a_folder_the_text_is_this_pythons_own_source() -> None:
    text = bytes(text_bytes.read(None).numpy())
    assert len(text) > 1_000_000
    assert Path(dataclasses.__file__).read_bytes() + b"\0" in text


def test_examples_are_consecutive_windows_and_the_last_tenth_is_held_out(tmp_path: Path) -> None:
    text = bytes(range(32, 122)) * 2 + b"!"
    (tmp_path / "a.txt").write_bytes(text)  # 182 bytes with the zero: (182 - 9) // 8 + 1 = 22 windows
    made = of_text(tmp_path)
    assert (made.dataset_size, made.validation_size, made.tokens_per_example) == (20, 2, 8)
    tokens = made.batch(torch.arange(20), torch.arange(20))["tokens"]
    assert [bytes(row.numpy()) for row in tokens] == [text[8 * i : 8 * i + 9] for i in range(20)]
    held_out = made.validation_batch([0, 1])["tokens"]
    assert [bytes(row.numpy()) for row in held_out] == [text[160:169], text[168:177]]
    assert of_text(tmp_path, validation_examples=0).dataset_size == 20


def test_text_shorter_than_two_sequences_is_refused_with_the_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 15)
    with pytest.raises(InputError, match=r"has 16 bytes: with sequence_length 8, .* need 17"):
        of_text(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"x" * 16)
    assert (of_text(tmp_path).dataset_size, of_text(tmp_path).validation_size) == (1, 1)


def test_bytes_need_a_vocabulary_that_holds_them() -> None:
    with pytest.raises(InputError, match=r"vocab_size is 65: source text reads bytes, .* 256 or more"):
        of_text(None, vocab_size=65)


def test_a_transformer_learns_to_spell(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the quick brown fox jumps over the lazy dog; " * 60)
    made = of_text(tmp_path, sequence_length=45)
    torch.manual_seed(0)
    model = made.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(60):
        loss = made.loss(model, made.batch(torch.arange(8) + step % 40, torch.arange(8)))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert loss.item() < 1.2  # knowing the letters' frequencies alone leaves 2.9, knowing the last letter 1.3
    with torch.no_grad():
        held_out, correct = made.evaluate(model, made.validation_batch([0, 1]))
    assert correct is None
    assert float(held_out.mean()) < 1.4


def test_a_validation_pass_takes_few_sequences_where_they_are_long() -> None:
    kind = workloads.load("transformer_lm")
    for length, most in ((32, 256), (1_024, 8), (65_536, 1)):
        made: Any = kind(TransformerLmOptions(sequence_length=length), "synthetic", None, 0)
        assert made.largest_validation_batch == most


def test_chains_follow_zipfs_law_and_their_rule() -> None:
    tokens = token_chains.chains(torch.arange(400), 65, 64, seed=0).long()
    assert tokens.shape == (400, 65)
    follows = (tokens[:, 1:] == (tokens[:, :-1] + 1) % 64).double().mean()
    assert float(follows) == pytest.approx(0.75 + 0.25 / 64, abs=0.02)
    drawn = torch.bincount(tokens[:, 0], minlength=64) / 400
    assert float(drawn[0]) == pytest.approx(0.166, abs=0.05)  # ln 2 / ln 65
    assert float(drawn[:8].sum()) == pytest.approx(0.526, abs=0.08)  # ln 9 / ln 65


def test_a_chain_hangs_on_its_key_alone() -> None:
    whole = token_chains.chains(torch.arange(10), 20, 100, seed=0)
    assert torch.equal(token_chains.chains(torch.tensor([7, 2]), 20, 100, seed=0), whole[[7, 2]])
    assert not torch.equal(token_chains.chains(torch.arange(10), 20, 100, seed=1), whole)
    assert len(torch.unique(whole, dim=0)) == 10


@pytest.mark.parametrize(("length", "sequences"), [(8, 4_096), (8_192, 512), (65_536, 64)])
def test_there_are_fewer_generated_sequences_where_they_are_long(length: int, sequences: int) -> None:
    assert workload("transformer_lm", sequence_length=length).dataset_size == sequences


def test_options_record_all_sizes_and_come_back_from_a_record() -> None:
    options = TransformerLmOptions(preset="124m", d_model=96)
    recorded = dataclasses.asdict(options)
    sizes = (recorded["d_model"], recorded["feed_forward"], recorded["layers"], recorded["sequence_length"])
    assert sizes == (96, 384, 12, 1_024)
    assert TransformerLmOptions(**recorded) == options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "2b"}, "preset is '2b': there are 1m, 10m, 124m, 350m, 1b, 3b, 7b"),
        ({"d_model": 36, "heads": 12}, "d_model is 36, heads 12: .* a multiple of 2 x 12 = 24"),
    ],
)
def test_impossible_sizes_are_refused_with_the_numbers(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TransformerLmOptions(**options)
