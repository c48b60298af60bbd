"""docs/sql.md: below every query what `bench sql` prints for it."""

from __future__ import annotations

import io
import re
from pathlib import Path

from analysis import output
from analysis.query import run

QUESTION = re.compile(
    r"### (?P<question>[^\n]+)\n\n```sql\n(?P<query>(?:(?!```).)*)```\n\n```text\n(?P<answer>.*?)```\n", re.S
)


def write_answers(page: Path, results: Path) -> None:
    """Ask every query of the page anew. The database of `results` should hold a session with skipped runs too."""

    def asked(found: re.Match[str]) -> str:
        query = found["query"]
        return f"### {found['question']}\n\n```sql\n{query}```\n\n```text\n{_ask(query, results)}```\n"

    page.write_text(QUESTION.sub(asked, page.read_text(encoding="utf-8")), encoding="utf-8")


def _ask(query: str, results: Path) -> str:
    answer = io.BytesIO()
    with run(results, query) as relation:
        output.write_table(relation, answer, rows=40, width=None)
    return answer.getvalue().decode()
