"""The page of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from markupsafe import Markup

from analysis.report.drawing.figure import figures
from analysis.report.html.downloads import csv_download
from analysis.report.html.files import page_name
from analysis.report.html.markup import Section
from analysis.report.pages.frame import charted_page
from analysis.report.pages.session_data import Contents
from analysis.report.sections.batch_table import batches
from analysis.report.sections.coverage_table import coverage
from analysis.report.sections.finding_list import findings
from analysis.report.sections.first_screen import first_screen, notes
from analysis.report.sections.hardware import hardware, nodes_of
from analysis.report.sections.hardware_use_table import hardware_use
from analysis.report.sections.laws_table import laws
from analysis.report.sections.loss_table import losses
from analysis.report.sections.machine_tables import exchanges, multiplications
from analysis.report.sections.overhead_table import perturbation
from analysis.report.sections.parity_table import parity
from analysis.report.sections.prediction_table import predictions
from analysis.report.sections.rerun import repeating
from analysis.report.sections.run_tables import placements, runs
from analysis.report.sections.settings import hyperparameters, settings_frame, settings_of
from analysis.report.sections.straggler_table import stragglers
from analysis.report.sections.strategy_table import strategies
from analysis.report.sections.summary_table import summary


def session_page(contents: Contents, bundle: str, others: Mapping[str, str] = MappingProxyType({})) -> str:
    """The HTML; `bundle` is JavaScript that defines vegaEmbed, `others` maps file names of related pages to titles."""
    session = contents.session
    return charted_page(
        "session",
        title=session["title"] or session["suite"],
        file_name=page_name(session["session_id"]),
        sections=sections(contents),
        bundle=bundle,
        opening=first_screen(contents, others),
    )


def sections(contents: Contents) -> Iterator[Section]:
    """The sections in the order of the page; a section without tables and charts is left out."""
    rows = contents.rows
    every_run = runs(rows("runs")), _csv(contents, "runs", "every run")
    covered = coverage(rows("coverage"), rows("not_ok"))
    covered_csv = _csv(contents, "coverage", "coverage") + _csv(contents, "not_ok", "runs that are not ok")
    if not contents.session["ok"]:  # first, and with the runs, because there is no summary to show them
        content = covered + every_run[0] + covered_csv + every_run[1]
        yield Section(identifier="coverage", title="Coverage", content=content)
    yield from _results(contents, *every_run)
    if contents.session["ok"]:
        yield Section(identifier="coverage", title="Coverage", content=covered + covered_csv)
    yield from _details(contents)


def _csv(contents: Contents, table: str, what: str) -> Markup:
    return csv_download(table, contents.tables[table], what)


def _with_csv(contents: Contents, table: str, shown: Markup, what: str) -> Markup:
    """A table with its rows as CSV; empty if the table is."""
    return shown + _csv(contents, table, what) if shown else shown


def _answer(contents: Contents, table: str, title: str, shown: Markup, what: str) -> Section:
    """A section that is one table."""
    return Section(identifier=table, title=title, content=_with_csv(contents, table, shown, what))


def _results(contents: Contents, every_run: Markup, every_run_csv: Markup) -> Iterator[Section]:
    """The sections from the lost efficiency to the notes on the numbers."""
    session, rows = contents.session, contents.rows
    lost = _with_csv(contents, "losses", losses(rows("losses")), "lost efficiency")
    yield Section(
        identifier="losses", title="Where did the efficiency go?", content=figures(contents, "losses") + lost
    )
    is_training = any(row["throughput"] is not None for row in rows("summary"))
    if rows("findings") or is_training:
        cases = {row["case_name"] for row in rows("summary")}
        yield Section(
            identifier="findings",
            title="Why, and what to change",
            content=findings(session, rows("findings"), rows("rules"), cases)
            + _csv(contents, "findings", "findings"),
        )
    if session["ok"] and not contents.is_of_a_machine:
        yield Section(
            identifier="summary",
            title="Summary",
            content=summary(rows("summary"))
            + placements(rows("summary"))
            + every_run
            + _csv(contents, "summary", "summary")
            + every_run_csv,
        )
    machine = exchanges(rows("exchanges")) + _csv(contents, "exchanges", "exchanges")
    machine += multiplications(rows("multiplications")) + _csv(contents, "multiplications", "multiplications")
    if machine and contents.is_of_a_machine:
        machine += every_run + every_run_csv
    yield Section(identifier="machine", title="What the machine can do", content=machine)
    used = hardware_use(rows("hardware_use"))
    yield _answer(contents, "hardware_use", "What does it use and cost?", used, "use of the hardware")
    yield _answer(contents, "strategies", "Which strategy?", strategies(rows("strategies")), "strategies")
    yield _answer(contents, "batches", "What fits?", batches(rows("batches")), "largest batches")
    (counts,) = rows("straggler_counts")
    if slow := stragglers(counts, rows("slow_ranks")):
        yield Section(
            identifier="stragglers",
            title="Does a rank or a node keep the others waiting?",
            content=slow
            + _csv(contents, "slow_ranks", "slow nodes and ranks")
            + figures(contents, "stragglers"),
        )
    yield _answer(contents, "parity", "Same training?", parity(rows("parity")), "same training")
    yield Section(
        identifier="notes",
        title="Notes on these numbers",
        content=notes(session, rows("summary"), rows("fingerprint")),
    )


def _details(contents: Contents) -> Iterator[Section]:
    """The sections with charts and laws, then those on how the session was run."""
    session, rows = contents.session, contents.rows
    yield Section(identifier="charts", title="Charts", content=figures(contents))
    predicted = _with_csv(contents, "predictions", predictions(rows("predictions")), "predictions")
    # The chart also shows how close the laws are to the measurements.
    chart = figures(contents, "further")
    yield Section(identifier="further", title="Would it scale further?", content=chart + predicted)
    yield _answer(contents, "laws", "Scaling laws", laws(rows("laws")), "scaling laws")
    cost = perturbation(rows("perturbation"))
    yield _answer(contents, "perturbation", "What did measuring cost?", cost, "what measuring cost")

    nodes = nodes_of(rows("environment"))
    settings = settings_of(rows("configuration"))
    yield Section(
        identifier="hyperparameters",
        title="Hyperparameters",
        content=hyperparameters(settings)
        + csv_download("hyperparameters", settings_frame(settings), "hyperparameters"),
    )
    yield Section(
        identifier="hardware",
        title="Hardware and software",
        content=hardware(session, rows("environment"), rows("fingerprint"))
        + _csv(contents, "environment", "environment"),
    )
    yield Section(
        identifier="command",
        title="Run it again" if session["imported"] is None else "Import it again",
        content=repeating(session, next(iter(nodes.values()), {})),
    )
