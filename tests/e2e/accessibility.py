"""axe-core in a page: what it finds, each violation as one line of text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.browser import Browser

FOLDER = Path(__file__).parent / "axe"
"""Where `npm ci` installs axe-core."""
SCRIPT = FOLDER / "node_modules/axe-core/axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice")
_RUN = """
const done = arguments[arguments.length - 1];
axe.run({exclude: ["details.data tbody tr:nth-child(n+11)"]}, {runOnly: arguments[0], resultTypes: ["violations"]})
  .then((found) => done(found.violations), (error) => done(String(error)));
"""


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One rule that a page breaks."""

    rule: str
    impact: str
    """`minor`, `moderate`, `serious` or `critical`."""
    help: str
    places: list[str]
    """CSS selector and reason of every element."""

    @property
    def grave(self) -> bool:
        return self.impact in ("serious", "critical")

    def text(self, most: int = 3) -> str:
        shown = "; ".join(self.places[:most])
        return f"{self.impact} {self.rule} ({self.help}), {len(self.places)} x: {shown}"


def violations(browser: Browser) -> list[Violation]:
    """Violations of the open page in its present state; checks ten rows of a chart's data table: all rows are alike."""
    if not browser.run("return 'axe' in window"):
        browser.run(SCRIPT.read_text(encoding="utf-8"))  # run by the driver: the page's policy stays
    browser.driver.set_script_timeout(120)
    found = browser.driver.execute_async_script(_RUN, list(RULES))
    assert isinstance(found, list), found
    return [_violation(one) for one in found]


def _violation(found: dict[str, Any]) -> Violation:
    places = [f"{' '.join(map(str, node['target']))}: {_reason(node)}" for node in found["nodes"]]
    return Violation(rule=found["id"], impact=str(found["impact"]), help=found["help"], places=places)


def _reason(node: dict[str, Any]) -> str:
    reasons = [check["message"] for kind in ("any", "all", "none") for check in node[kind]]
    return ", ".join(reasons)
