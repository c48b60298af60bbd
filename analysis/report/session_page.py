"""The page of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from analysis.report import answers
from analysis.report.batch_table import batches
from analysis.report.charted_page import charted_page
from analysis.report.contents import Contents
from analysis.report.coverage_table import coverage
from analysis.report.downloads import csv_download, csv_of
from analysis.report.figures import figures
from analysis.report.files import page_name
from analysis.report.hardware import hardware, nodes_of
from analysis.report.hardware_use_table import hardware_use
from analysis.report.hyperparameters import hyperparameters, settings_frame, settings_of
from analysis.report.laws_table import laws
from analysis.report.machine_tables import exchanges, multiplications
from analysis.report.markup import Section
from analysis.report.opening import notes, opening
from analysis.report.perturbation_table import perturbation
from analysis.report.repeating import repeating
from analysis.report.run_tables import placements, runs
from analysis.report.strategy_table import strategies
from analysis.report.summary_table import summary

_FOOTER = (
    "<p>Every number on this page is a row of the session's database; the SQL beside each chart asks for it "
    "again. The page loads nothing and sends nothing.</p><p>CSV files hold the rows as the database does: UTF-8, in "
    "the units of the column names, with every digit (rows of charts: six). Text that a spreadsheet would take for a "
    "formula has an apostrophe before it.</p>"
)


def session_page(contents: Contents, bundle: str, others: Mapping[str, str] = MappingProxyType({})) -> str:
    """HTML; `bundle` is the JavaScript that defines vegaEmbed, `others` are the words of links to other pages by their
    file name."""
    session = contents.session
    return charted_page(
        title=session["title"] or session["suite"],
        file_name=page_name(session["session_id"]),
        opening=opening(contents, others),
        parts=_sections(contents),
        footer=_FOOTER,
        bundle=bundle,
    )


def _sections(contents: Contents) -> Iterator[Section]:
    """Where nothing is ok, what went wrong comes first."""
    covered = _coverage(contents)
    if not contents.session["ok"]:
        yield covered
    yield answers.losses_section(contents)
    yield answers.findings_section(contents)
    yield _summary(contents)
    yield _machine(contents)
    yield _hardware_use(contents)
    yield _strategies(contents)
    yield _batches(contents)
    yield answers.stragglers_section(contents)
    yield answers.parity_section(contents)
    yield Section(
        identifier="notes", title="To keep in mind", content=notes(contents.session, contents.rows("summary"))
    )
    if contents.session["ok"]:
        yield covered
    yield Section(identifier="charts", title="Charts", content=figures(contents))
    yield answers.further_section(contents)
    yield _laws(contents)
    yield _perturbation(contents)
    yield from _setting(contents)


def _summary(contents: Contents) -> Section:
    points, every_run = contents.rows("summary"), contents.rows("runs")
    saved = csv_of(contents, "summary", "summary") + csv_of(contents, "runs", "every run")
    content = summary(points) + placements(points) + runs(every_run) + saved
    is_shown = contents.session["ok"] and not contents.is_of_a_machine
    return Section(identifier="summary", title="Summary", content=content if is_shown else "")


def _machine(contents: Contents) -> Section:
    """Nothing where all runs train."""
    content = "".join(
        shown(contents.rows(name)) + csv_of(contents, name, name)
        for name, shown in (("exchanges", exchanges), ("multiplications", multiplications))
        if not contents.tables[name].is_empty()
    )
    if content and contents.is_of_a_machine:  # there is no summary to stand in
        content += runs(contents.rows("runs")) + csv_of(contents, "runs", "every run")
    return Section(identifier="machine", title="What the machine can do", content=content)


def _hardware_use(contents: Contents) -> Section:
    """Nothing where neither FLOP/s nor energy nor GPU-hours are known."""
    content = hardware_use(contents.rows("hardware_use"))
    return answers.table_section(
        contents, "hardware_use", "What does it use and cost?", content, "use of the hardware"
    )


def _strategies(contents: Contents) -> Section:
    """Nothing where no two strategies ran the same."""
    content = strategies(contents.rows("strategies"))
    return answers.table_section(contents, "strategies", "Which strategy?", content, "strategies")


def _batches(contents: Contents) -> Section:
    """Nothing where no case asks for the largest batch."""
    content = batches(contents.rows("batches"))
    return answers.table_section(contents, "batches", "What fits?", content, "largest batches")


def _coverage(contents: Contents) -> Section:
    content = coverage(contents.rows("coverage"), contents.rows("not_ok"))
    saved = csv_of(contents, "coverage", "coverage") + csv_of(contents, "not_ok", "runs that are not ok")
    if not contents.session["ok"]:  # there is no summary to stand in
        content += runs(contents.rows("runs"))
        saved += csv_of(contents, "runs", "every run")
    return Section(identifier="coverage", title="Coverage", content=content + saved)


def _again(contents: Contents) -> str:
    return "Run it again" if contents.session["imported"] is None else "Import it again"


def _laws(contents: Contents) -> Section:
    content = laws(contents.rows("laws"))
    return answers.table_section(contents, "laws", "Scaling laws", content, "scaling laws")


def _perturbation(contents: Contents) -> Section:
    """Nothing where no size says anything of it."""
    content = perturbation(contents.rows("perturbation"))
    return answers.table_section(
        contents, "perturbation", "What did measuring cost?", content, "what measuring cost"
    )


def _setting(contents: Contents) -> Iterator[Section]:
    settings = settings_of(contents.rows("configuration"))
    saved = csv_download("hyperparameters", settings_frame(settings), "hyperparameters")
    yield Section(
        identifier="hyperparameters", title="Hyperparameters", content=hyperparameters(settings) + saved
    )
    environment = contents.rows("environment")
    machine = hardware(contents.session, environment, contents.rows("fingerprint"))
    saved = csv_of(contents, "environment", "environment")
    yield Section(identifier="hardware", title="Hardware and software", content=machine + saved)
    facts = next(iter(nodes_of(environment).values()), {})
    yield Section(identifier="command", title=_again(contents), content=repeating(contents.session, facts))
