"""Show findings as text or JSON."""

from __future__ import annotations

import dataclasses
import json

import click

from bench.doctor.finding import Finding

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def as_text(findings: list[Finding]) -> str:
    """A line per finding with its remedy below, and one closing sentence."""
    width = max(len(finding.topic) for finding in findings)
    lines = []
    for finding in findings:
        level = click.style(f"{finding.level:<4}", fg=_COLOURS[finding.level])
        lines.append(f"{level}  {finding.topic:<{width}}  {finding.text}")
        if finding.remedy:
            lines.append(f"{'':<{width + 8}}-> {finding.remedy}")
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
