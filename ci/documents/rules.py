"""Every shipped rule of diagnosis: what it finds, what that means, when it fires."""

from __future__ import annotations

from analysis.database import schema
from analysis.diagnosis.rules import SEVERITIES, Rule
from ci.documents.markdown import code


def rules() -> str:
    """A section for each severity, the most severe first."""
    every = schema.shipped_rules()
    return "\n".join(
        line
        for severity in SEVERITIES
        for line in _of(severity, [r for r in every if r.severity == severity])
    )


def _of(severity: str, every: list[Rule]) -> list[str]:
    return [f"### {severity.capitalize()}", "", *(line for rule in every for line in (*_rule(rule), ""))]


def _rule(rule: Rule) -> list[str]:
    return [f"**{rule.title}** ({code(rule.finding)}). {rule.meaning} *{rule.fires}*"]
