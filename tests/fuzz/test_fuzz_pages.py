"""With any texts in a results folder, pages and exports have the elements, scripts and links of plain ones.

The tests load and query texts with one mark each. Each example then replaces the marks in the rows that pages and
exports are made from."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.database import connections
from analysis.export import chart_picture, content
from analysis.export.formats import latex, markdown
from analysis.loading.load import load
from analysis.report import named_queries
from analysis.report.charts import all_charts
from analysis.report.html.files import history_name, page_name
from analysis.report.pages import session_data
from analysis.report.pages.comparison.data import of_ids
from analysis.report.pages.comparison.page import compare_page
from analysis.report.pages.history import data as histories
from analysis.report.pages.history.page import history_page
from analysis.report.pages.index import index_page
from analysis.report.pages.session import session_page
from tests.factory import Case, make_session
from tests.fuzz.limits import ends
from tests.fuzz.parsed_pages import Parsed
from tests.poisoned import PAYLOADS, poison

SESSIONS = ("one", "two")
SECOND, CASE = 100, 900
"""Marks from here on belong to the second session and its cases; their texts differ from all others."""
FRAGMENTS = (
    "<", ">", "&", '"', "'", "`", "&lt;", "&#60;", "&quot", "]]>", "<!--", "-->", "--!>", "<![CDATA[", "<?",
    "</", "</script", "</SCRIPT\t", "<script>", "<img src=x onerror=x()>", "</title>", "</style>",
    "</textarea>", "</svg>", "</noscript>", "<a href='javascript:x()'>", " onload=x() ", "javascript:x()",
    "data:text/html,<script>", "//example.org", "https://example.org/", "datum['x']", "datum[\"x\"]", "{{x}}",
    "${x}", "\\u003c", "\\", "\u2028", "\u2029", "\0", "\x01", "\x1b[31m", "\x7f", "\x85", "\n", "\r", "\t",
    " ", "\u202e", "\u2066", "שלום", "مرحبا", "\ufeff", "\ufffe", "\uffff", "\U000e0001", "\U0001f600",
    "e\u0301", "=1+1", "@x", "#x", "|", "-" * 80, "x" * 300, "x " * 9_000, "%", "\\input{/etc/passwd}", "$",
    "_", "^", "~", "{", "}", "[x](y)", "![x](y)", "1", "None", "null", "ok", "ddp",
)  # fmt: skip
LETTERS = {
    "char", "texttt", "ensuremath", "pm", "times", "div", "mu", "cdot", "textendash", "textemdash", "ldots",
    "ss", "ae", "AE", "oe", "OE", "o", "O", "l", "L", "aa", "AA", "u", "H", "v", "c",
}  # fmt: skip
"""LaTeX commands that stand for a character, or format one."""
TEXTS = st.one_of(
    st.sampled_from(PAYLOADS),
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
)
"""No half of a surrogate pair: files may have one, but a database never does."""


class Rows:
    """The rows for pages, with other texts in place of the marks."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.texts: Sequence[str] | None = None
        """Null: marks stay."""
        self._asked: dict[str, pl.DataFrame] = {}
        self._exported = content.read(connection, SESSIONS[0])

    def frame(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        session_id: str | None = None,
        **parameters: Any,
    ) -> pl.DataFrame:
        """As named_queries.frame, but it queries once."""
        key = repr((name, session_id, parameters))
        if key not in self._asked:
            self._asked[key] = _frame(connection, name, session_id, **parameters)
        marked = self._asked[key]
        rows = [self.put(row) for row in marked.iter_rows(named=True)]
        return named_queries._printable(pl.DataFrame(rows, schema=marked.schema))

    @property
    def exported(self) -> content.Content:
        marked = self._exported
        return replace(
            marked,
            session=self.put(marked.session),
            facts=self.put(marked.facts),
            points=self.put(marked.points),
            coverage=self.put(marked.coverage),
        )

    def put(self, value: Any) -> Any:
        if self.texts is None:
            return value
        if isinstance(value, dict):
            return {self.put(key): self.put(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.put(item) for item in value]
        if not isinstance(value, str):
            return value
        if value[:1] in ("{", "[") and (tree := _json(value)) is not None:
            return json.dumps(self.put(tree), ensure_ascii=False)
        return re.sub(r"MARK(\d+)END", lambda found: self._text(int(found[1])), value)

    def _text(self, number: int) -> str:
        assert self.texts is not None
        drawn = self.texts[number % len(self.texts)]
        return f"{drawn}{number}" if number >= SECOND else drawn


_frame = named_queries.frame


def _json(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return None


def mark(number: int) -> str:
    return f"MARK{number}END"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rows]:
    results = tmp_path_factory.mktemp("pages") / "results"
    statuses = {(2, 1): "failed", (2, 2): "oom"}
    for place, session in enumerate(SESSIONS):
        cases = [
            Case(name=mark(CASE + n), step_ms={1: 50.0, 2: 40.0}, statuses=statuses, jitter=0.02)
            for n in (0, 1)
        ]
        folder = make_session(results, cases, session_id=session, tags=["a", "b"])
        poison(folder, lambda number, more=SECOND * place: mark(number + (more if number else 0)))
    assert load(results).problems == ()
    with connections.reader(results) as connection:
        made = Rows(connection)
        with mock.patch.object(named_queries, "frame", made.frame):
            yield made


def _session(rows: Rows) -> str:
    others = {history_name(rows.put(mark(0))): rows.put(mark(0))}
    return session_page(session_data.read(rows.connection, SESSIONS[0]), "0", others)


def _index(rows: Rows) -> str:
    known, suite = rows.frame(rows.connection, "sessions").to_dicts(), rows.put(mark(0))
    return index_page(
        known, page_name, {"compare-0.html": suite}, histories={history_name(suite): suite}, out=suite
    )


PAGES: dict[str, Callable[[Rows], str]] = {
    "session": _session,
    "comparison": lambda rows: compare_page(rows.connection, of_ids([(name,) for name in SESSIONS]), "0"),
    "history": lambda rows: history_page(histories.read(rows.connection, mark(0)), "0", page_name),
    "index": _index,
}
FOLDED = {("details",), ("summary",)}
"""Elements around a text that is too long for a table."""
DRAWN = {"svg", "g", "defs", "clipPath", "rect", "line", "path", "text", "tspan", "title", "desc"}
"""Elements of a picture."""


class Plain:
    """Pages with marks alone."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._kept: dict[str, Parsed] = {}

    def of(self, kind: str) -> Parsed:
        if kind not in self._kept:
            self._rows.texts = None
            self._kept[kind] = Parsed(PAGES[kind](self._rows))
        return self._kept[kind]


@pytest.fixture(scope="module")
def plain(rows: Rows) -> Plain:
    return Plain(rows)


@settings(max_examples=5)
@given(kind=st.sampled_from([*PAGES]), texts=st.lists(TEXTS, min_size=1, max_size=12))
def test_a_page_of_odd_texts_can_do_what_a_plain_one_can(
    rows: Rows, plain: Plain, kind: str, texts: list[str]
) -> None:
    wanted = plain.of(kind)
    rows.texts = texts
    with ends():
        page = PAGES[kind](rows)
    page.encode()
    found = Parsed(page)
    assert found.elements <= wanted.elements | FOLDED
    assert found.code == wanted.code
    assert found.expressions == wanted.expressions, "texts in an expression are quoted"
    assert len(found.links) == len(wanted.links)
    assert all(re.fullmatch(r"#[\w-]+|[\w.-]+\.html", link, re.ASCII) for link in found.links), found.links


@settings(max_examples=8)
@given(texts=st.lists(TEXTS, min_size=1, max_size=12))
def test_exports_of_odd_texts_keep_their_form(rows: Rows, texts: list[str]) -> None:
    rows.texts = None
    commands = set(re.findall(r"\\([a-zA-Z]+)", latex.FORMAT.write(rows.exported)))
    rows.texts = texts
    with ends():
        found = rows.exported
        paper, page = (write(found) for write in (latex.FORMAT.write, markdown.FORMAT.write))
    assert paper.isascii()
    assert set(re.findall(r"\\([a-zA-Z]+)", paper)) - commands <= LETTERS
    signs = Counter(re.findall(r"[{}&]", re.sub(r"\\[^a-zA-Z]", "", paper)))
    assert signs["{"] == signs["}"]
    assert signs["&"] == 5 * (len(found.points) + 1), "six cells in each row and in the head"
    table = [line for line in page.splitlines() if line.startswith("|")]
    assert len(table) == len(found.points) + 2
    assert len({line.count("|") for line in table}) == 1


def test_a_chart_as_a_picture_holds_odd_texts(rows: Rows) -> None:
    rows.texts = PAYLOADS
    found = rows.frame(rows.connection, "efficiency", SESSIONS[0])
    cases = found.get_column("case_name").unique(maintain_order=True).to_list()
    drawn = list(
        chart_picture.svgs(
            "efficiency", all_charts()["efficiency"], found, cases, caption="", finding="", origin=""
        )
    )
    assert drawn
    for _name, _title, svg in drawn:
        _is_harmless(svg)
    assert "constructor" in drawn[0][2]


def _is_harmless(svg: str) -> None:
    for element in ET.fromstring(svg).iter():
        assert element.tag.partition("}")[2] in DRAWN
        assert not [name for name in element.attrib if name.startswith("on") or "href" in name]
