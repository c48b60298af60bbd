"""From any results folder, sound data are loaded, bad data are left out and named, and all queries work."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.hostile_results import RUN, VIEWS, Hostile
from tests.fuzz.mutation import ODD_TEXTS, mangled, mutated

JSON_FILES = ("session.json", f"{RUN}/run.json", "single.1x1.r0/run.json")
PARQUET_FILES = (f"{RUN}/steps.node0.parquet", f"{RUN}/samples.node1.parquet", f"{RUN}/evals.parquet")
Change = Callable[[Path], object]
SOME_VIEWS = st.lists(st.sampled_from(VIEWS), max_size=3)
WHOLE = st.integers(0, 29).map(lambda number: number == 29)
SNIPPETS = (
    '"schema_version": 1,', '"suite": "other",', "NaN", "Infinity,", "1e999,", "-0", "9" * 5_000, "[" * 5_000, "{",
    "}", "\0", "\ufeff", '"\\ud800"', "// no comment", "'", "\u2028", '"x": ' + "[" * 900 + "]" * 900 + ",",
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    return Hostile(tmp_path_factory.mktemp("hostile"))


@settings(max_examples=3)
@given(data=st.data(), views=SOME_VIEWS, whole=WHOLE)
def test_json_with_odd_values_is_loaded_or_left_out(
    hostile: Hostile, data: st.DataObject, views: list[str], whole: bool
) -> None:
    def changed(sound: Path) -> Change:
        name = data.draw(st.sampled_from(JSON_FILES))
        content = json.dumps(data.draw(mutated(json.loads((sound / name).read_text()))))
        return lambda folder: (folder / name).write_text(content)

    hostile.after(*map(changed, hostile.sound), views=views, whole=whole)


@settings(max_examples=3)
@given(data=st.data())
def test_json_with_odd_lines_is_loaded_or_left_out(hostile: Hostile, data: st.DataObject) -> None:
    def changed(sound: Path) -> Change:
        name = data.draw(st.sampled_from(JSON_FILES))
        text = data.draw(mangled((sound / name).read_text(), SNIPPETS))
        content = text.encode("utf-8", "surrogatepass")
        content += data.draw(st.sampled_from([b"", b"\xff", b"\0", b"{}"]))
        return lambda folder: (folder / name).write_bytes(content)

    hostile.after(*map(changed, hostile.sound))


@settings(max_examples=3)
@given(data=st.data(), views=SOME_VIEWS)
def test_parquet_with_other_bytes_is_loaded_or_left_out(
    hostile: Hostile, data: st.DataObject, views: list[str]
) -> None:
    def changed(sound: Path) -> Change:
        name = data.draw(st.sampled_from(PARQUET_FILES))
        content = data.draw(_other_bytes((sound / name).read_bytes()))
        return lambda folder: (folder / name).write_bytes(content)

    hostile.after(*map(changed, hostile.sound), views=views)


@st.composite
def _other_bytes(draw: st.DrawFn, sound: bytes) -> bytes:
    content = bytearray(sound)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(
            st.one_of(
                st.integers(0, len(content) - 1), st.integers(max(0, len(content) - 900), len(content) - 1)
            )
        )
        match draw(st.sampled_from(["flip", "flip", "cut", "zeros", "double"])):
            case "flip":
                content[place] = draw(st.integers(0, 255))
            case "cut":
                del content[place : place + draw(st.integers(1, 40))]
            case "zeros":
                content[place : place + 16] = bytes(len(content[place : place + 16]))
            case _:
                content[place:place] = content[place : place + 64]
        if not content:
            break
    return bytes(content)


TYPES = st.sampled_from(
    [
        pa.int8(), pa.int32(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.string(),
        pa.large_string(), pa.binary(), pa.bool_(), pa.null(), pa.date32(), pa.timestamp("ns"), pa.decimal128(38, 5),
        pa.list_(pa.int64()), pa.struct([("step", pa.int64())]), pa.map_(pa.string(), pa.int64()),
        pa.dictionary(pa.int32(), pa.string()), pa.duration("s"), pa.large_list(pa.string()),
    ]
)  # fmt: skip
NUMBERS = st.sampled_from([0, -1, 1, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63)])
FLOATS = st.sampled_from([0.0, -1.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")])


@settings(max_examples=3)
@given(data=st.data(), views=SOME_VIEWS, whole=WHOLE)
def test_parquet_with_odd_columns_is_loaded_or_left_out(
    hostile: Hostile, data: st.DataObject, views: list[str], whole: bool
) -> None:
    def changed(sound: Path) -> Change:
        name = data.draw(st.sampled_from(PARQUET_FILES))
        table = pq.read_table(sound / name)
        metadata = dict(table.schema.metadata)
        for _ in range(data.draw(st.integers(1, 3))):
            table = data.draw(_changed(table))
        if data.draw(st.booleans()):
            metadata[data.draw(st.sampled_from([*metadata]))] = data.draw(st.sampled_from(ODD_TEXTS)).encode(
                errors="replace"
            )
        whole_table = table.replace_schema_metadata(metadata)
        compression = data.draw(st.sampled_from(["zstd", "none", "snappy"]))
        return lambda folder: pq.write_table(whole_table, folder / name, compression=compression)

    hostile.after(*map(changed, hostile.sound), views=views, whole=whole)


@st.composite
def _changed(draw: st.DrawFn, table: pa.Table) -> pa.Table:
    if not table.num_columns:
        return table
    place = draw(st.integers(0, table.num_columns - 1))
    field = table.schema.field(place)
    match draw(
        st.sampled_from(["values", "values", "values", "type", "drop", "double", "rename", "no rows"])
    ):
        case "values" if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            drawn = NUMBERS if pa.types.is_integer(field.type) else FLOATS
            bits = field.type.bit_width
            value = draw(st.one_of(st.none(), drawn))
            if pa.types.is_integer(field.type) and value is not None:
                value = max(-(2 ** (bits - 1)), min(2 ** (bits - 1) - 1, value))
            values = table.column(place).to_pylist()
            for row in range(0, len(values), draw(st.sampled_from([1, 2, 7]))):
                values[row] = value
            return table.set_column(place, field.name, pa.array(values, field.type))
        case "type":
            return table.set_column(place, field.name, pa.nulls(table.num_rows, draw(TYPES)))
        case "drop":
            return table.remove_column(place)
        case "double":
            return table.append_column(field.name, table.column(place))
        case "rename":
            names = list(table.column_names)
            names[place] = draw(
                st.sampled_from([*names, "session_id", "x'; DROP TABLE runs; --", "STEP", "a b"])
            )
            return table.rename_columns(names)
        case "no rows":
            return table.slice(0, 0)
        case _:
            texts = pa.array([draw(st.sampled_from(["", "measured", "\0", "x" * 1_000]))] * table.num_rows)
            return table.set_column(place, field.name, texts)


NAMES = st.one_of(
    st.sampled_from(
        [
            "'; DROP TABLE runs; --", '"', "a\nb", "*", "?", "[a]", "-rf", "--help", "x" * 255, "\u202egnp", "..a", "~",
            "$HOME", "%00", "a\\", "\udcff", "run.json", "steps.node0.parquet", "attempt0", "attempt" + "9" * 30,
            "attempt\u0664", "é", "e\u0301", "con", "session.json", "{}", "CON:", " ", "a{b,c}", "http:x",
        ]
    ),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=30),
)  # fmt: skip
MAKERS: dict[str, Callable[[Path, Hostile], Any]] = {
    "pipe": lambda path, _: os.mkfifo(path),
    "link outside": lambda path, hostile: path.symlink_to(hostile.outside),
    "link to a file outside": lambda path, hostile: path.symlink_to(hostile.outside / "kept.txt"),
    "link up": lambda path, _: path.symlink_to(".."),
    "link to itself": lambda path, _: path.symlink_to(path.name),
    "link to nothing": lambda path, _: path.symlink_to("nothing"),
    "device": lambda path, _: path.symlink_to("/dev/zero"),
    "folder": lambda path, _: path.mkdir(),
    "nothing": lambda path, _: path.touch(),
    "sparse": lambda path, _: (path.touch(), os.truncate(path, 2**40)),
}
PLACES = ("..", ".", RUN)


@settings(max_examples=12)
@given(data=st.data(), kind=st.sampled_from([*MAKERS]), place=st.sampled_from(PLACES))
def test_odd_things_in_a_folder_are_passed_over_or_named(
    hostile: Hostile, data: st.DataObject, kind: str, place: str
) -> None:
    ours = ["session.json", "run.json", "steps.node0.parquet", "attempt1", "single.1x1.r0"]
    name = data.draw(st.one_of(st.sampled_from(ours), NAMES, NAMES.map(lambda text: text[:200] + ".parquet")))

    def change(folder: Path) -> None:
        path = folder / place / name
        if path.is_dir() and not path.is_symlink():
            path.rename(path.with_name(".aside"))
        elif path.is_symlink() or path.exists():
            path.unlink()
        try:
            MAKERS[kind](path, hostile)
        except OSError:
            return  # no file system accepts this name

    if name not in ("..", "good", "results.duckdb", "."):
        hostile.after(change)


@settings(max_examples=3)
@given(names=st.lists(NAMES, min_size=4, max_size=4))
def test_a_run_of_any_name_is_loaded_or_named(hostile: Hostile, names: list[str]) -> None:
    def change(name: str, folder: Path) -> None:
        run = json.loads((folder / RUN / "run.json").read_text())
        run["run_id"] = run["spec"]["run_id"] = name
        (folder / RUN / "run.json").write_text(json.dumps(run))
        for path in (folder / RUN).glob("*.parquet"):
            table = pq.read_table(path)
            known = {**table.schema.metadata, b"run_id": name.encode(errors="surrogateescape")}
            pq.write_table(table.replace_schema_metadata(known), path)
        if not (folder / name).exists():
            (folder / RUN).rename(folder / name)

    changes = [functools.partial(change, name) for name in names]
    hostile.after(*changes, views=["run_summary", "scaling"])
