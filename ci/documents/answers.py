"""docs/sql.md: put the output of `bench sql` below every query."""

from __future__ import annotations

import io
import re
from pathlib import Path

from analysis.sql import output
from analysis.sql.query import run

QUESTION = re.compile(
    r"### (?P<question>[^\n]+)\n\n```sql\n(?P<query>(?:(?!```).)*)```\n\n```text\n(?P<answer>.*?)```\n", re.S
)


def write_answers(page: Path, results: Path) -> None:
    """Run every query of the page again. The database of `results` should also hold a session with skipped runs."""

    def asked(found: re.Match[str]) -> str:
        query = found["query"]
        return f"### {found['question']}\n\n```sql\n{query}```\n\n```text\n{_ask(query, results)}```\n"

    page.write_text(QUESTION.sub(asked, page.read_text(encoding="utf-8")), encoding="utf-8")


def _ask(query: str, results: Path) -> str:
    answer = io.BytesIO()
    with run(results, query) as relation:
        output.write_table(relation, answer, rows=40, width=None)
    return answer.getvalue().decode()
