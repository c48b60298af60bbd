"""YAML as people mean it, with places, and nothing that could hurt."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.suite.yaml_nodes import parse, read


def value(text: str) -> object:
    return parse(f"key: {text}", "s.yaml").without_places()["key"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2e-4", 2e-4),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("-3", -3),
        ("10_000", 10_000),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("off", "off"),
        ("yes", "yes"),
        ("on", "on"),
        ("No", "No"),
        ("1:30", "1:30"),
        ("0123", "0123"),
        ("0x10", "0x10"),
        ("2026-11-21", "2026-11-21"),
        ("2x4", "2x4"),
        ("1_0", "1_0"),
        (".inf", ".inf"),
        ("'8'", "8"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_scalars_mean_what_people_write(text: str, meant: object) -> None:
    found = value(text)
    assert found == meant
    assert type(found) is type(meant)


def test_every_node_knows_where_it_and_its_key_stand() -> None:
    root = parse("title: x\ntrain:\n  seed: [1, 22]\n", "s.yaml")
    seeds = root.value["train"].value["seed"]
    assert (seeds.where, seeds.key_where) == ("s.yaml:3:9", "s.yaml:3:3")
    assert [item.where for item in seeds.value] == ["s.yaml:3:10", "s.yaml:3:13"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "s.yaml:3:1: the key 'a' is given twice, first at 1:1"),
        ("a: [1", "s.yaml:1:6: expected ',' or ']', but got '<stream end>'"),
        (
            "a: !!python/object:os.system {}",
            "s.yaml:1:4: the tag tag:yaml.org,2002:python/object:os.system is not allowed",
        ),
        ("a: !!int maybe", "s.yaml:1:4: the tag tag:yaml.org,2002:int is not allowed here"),
        ("? [1, 2]\n: 3", "s.yaml:1:3: a key must be text"),
        ("a: &x [*x]", "s.yaml:1:4: an alias is inside the value that it repeats"),
        ("a: *missing", "s.yaml:1:4: found undefined alias 'missing'"),
        ("a: 1\n---\nb: 2", "s.yaml:2:1: but found another document"),
        ("a: b\x07", "s.yaml:1: the character U+0007 is not allowed in YAML"),
        ("", "s.yaml is empty: a suite begins with `title:`"),
        ("[" * 2000, "s.yaml: lists or mappings are nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse(text, "s.yaml")
    assert str(raised.value).startswith(message)


def test_an_alias_stands_for_its_anchor() -> None:
    assert parse("a: &x {b: 1}\nc: *x", "s.yaml").without_places() == {"a": {"b": 1}, "c": {"b": 1}}


def test_aliases_that_multiply_are_refused_before_they_fill_memory() -> None:
    levels = "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 12))
    with pytest.raises(InputError, match="aliases unfold to more than 1000 copies or 100000 values"):
        parse("l0: &l0 [lol]\n" + levels, "s.yaml")


def test_a_file_of_more_than_a_megabyte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(InputError, match="has 1000001 bytes: a suite file has 1000000 at most"):
        read(path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"title: \xff")
    with pytest.raises(InputError, match="is not UTF-8 text: byte 7 is 0xff"):
        read(path)
