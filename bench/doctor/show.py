"""Show findings as text or JSON."""

from __future__ import annotations

import dataclasses
import json

import click

from bench.common.terminal import wrapped
from bench.doctor.finding import Finding

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def as_text(findings: list[Finding], columns: int | None = None) -> str:
    """A line per finding with its remedy below, and one closing sentence, wrapped at the terminal's columns."""
    width = max(len(finding.topic) for finding in findings)
    margin = " " * (width + 8)
    lines = []
    for finding in findings:
        level = f"{finding.level:<4}"
        first, *more = wrapped(f"{level}  {finding.topic:<{width}}  {finding.text}", columns, margin)
        lines += [first.replace(level, click.style(level, fg=_COLOURS[finding.level]), 1), *more]
        if finding.remedy:
            lines += wrapped(f"{margin}-> {finding.remedy}", columns, "   ")
    return "\n".join([*lines, "", _closing_sentence(findings)])


def to_json(findings: list[Finding]) -> str:
    """`{"findings": [{"topic", "level", "text", "remedy"}, ...]}`."""
    return json.dumps({"findings": [dataclasses.asdict(finding) for finding in findings]}, indent=2)


def _closing_sentence(findings: list[Finding]) -> str:
    failures = sum(finding.level == "fail" for finding in findings)
    warnings = sum(finding.level == "warn" for finding in findings)
    if failures:
        return f"This machine cannot run suites yet: fix {_count(failures, 'failure')}."
    if warnings:
        return f"This machine can run suites; see {_count(warnings, 'warning')}."
    return "This machine can run suites."


def _count(number: int, noun: str) -> str:
    return f"the {noun}" if number == 1 else f"the {number} {noun}s"
