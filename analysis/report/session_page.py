"""The page of a session."""

from __future__ import annotations

from analysis.report import embedding, theme
from analysis.report.contents import Contents
from analysis.report.coverage_table import coverage
from analysis.report.document import asset, document
from analysis.report.figures import figures
from analysis.report.markup import section
from analysis.report.opening import notes, opening
from analysis.report.setting import command, environment, hyperparameters
from analysis.report.summary_table import runs, summary

_FOOTER = (
    "<footer>Every number on this page is a row of the session's database; the SQL beside each chart asks for it "
    "again. The page loads nothing and sends nothing.</footer>"
)


def session_page(contents: Contents, bundle: str) -> str:
    """HTML; `bundle` is the JavaScript that defines vegaEmbed."""
    points = contents.rows("summary")
    body = "".join(
        [
            opening(contents.session, points),
            "<main>",
            section("summary", "Summary", summary(points) + runs(contents.rows("runs"))),
            section("notes", "To keep in mind", notes(contents.session, points)),
            section("coverage", "Coverage", coverage(contents.rows("coverage"))),
            section("charts", "Charts", figures(contents)),
            section("hyperparameters", "Hyperparameters", hyperparameters(contents.rows("configuration"))),
            section("environment", "Environment", environment(contents.rows("environment"))),
            section("command", "Run it again", command(contents.session["command"])),
            "</main>",
            _FOOTER,
            '<noscript><p class="empty">The charts need JavaScript; the tables do not.</p></noscript>',
            f'<script type="application/json" id="vega-config">{embedding.script_json(theme.vega_config())}</script>',
        ]
    )
    title = f"{contents.session['title'] or contents.session['suite']} · scalebench"
    return document(title=title, body=body, scripts=[bundle, asset("page.js")])
