"""The page of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import polars as pl
from markupsafe import Markup

from analysis.report.drawing.figure import figures
from analysis.report.html.downloads import csv_download
from analysis.report.html.files import page_name
from analysis.report.html.markup import Section, short, text, trusted, unbroken
from analysis.report.pages.frame import charted_page
from analysis.report.pages.session_data import Contents
from analysis.report.sections.batch_table import batches
from analysis.report.sections.coverage_table import coverage
from analysis.report.sections.finding_list import findings
from analysis.report.sections.first_screen import first_screen, notes, shows_curve
from analysis.report.sections.hardware import hardware, nodes_of
from analysis.report.sections.hardware_use_table import hardware_use
from analysis.report.sections.laws_table import laws
from analysis.report.sections.loss_table import losses
from analysis.report.sections.machine_tables import exchanges, multiplications
from analysis.report.sections.overhead_table import perturbation
from analysis.report.sections.parity_table import parity, parity_answer
from analysis.report.sections.prediction_table import predictions
from analysis.report.sections.published_table import published
from analysis.report.sections.rerun import repeating
from analysis.report.sections.run_tables import placements, runs
from analysis.report.sections.settings import hyperparameters, settings_frame, settings_of
from analysis.report.sections.straggler_table import straggler_answer, stragglers
from analysis.report.sections.strategy_table import strategies
from analysis.report.sections.summary_table import MOST_ROWS, summary
from analysis.report.sections.target_table import target_answer, targets
from analysis.wording import what_if
from analysis.wording.lost_efficiency import explained
from analysis.wording.main_loss import main_loss_of

_FEW_SIZES = 2


def session_page(contents: Contents, bundle: str, others: Mapping[str, str] = MappingProxyType({})) -> str:
    """The HTML; `bundle` is JavaScript that defines vegaEmbed, `others` maps file names of related pages to titles."""
    session = contents.session
    return charted_page(
        "session",
        title=session["title"] or session["suite"],
        file_name=page_name(session["session_id"]),
        sections=sections(contents),
        bundle=bundle,
        styles=["answer"],
        opening=first_screen(contents, others),
    )


def sections(contents: Contents) -> Iterator[Section]:
    """The sections in the order of the page; a section without tables and charts is left out. The curves, the findings
    and all numbers are open; the others are folded to a line each. With very many placements only the findings are
    open."""
    session, rows = contents.session, contents.rows
    has_results = bool(session["ok"])
    if not has_results:  # first and open, because there is nothing else to show
        yield _coverage(contents, folded=False)
    measured = sum(row["throughput"] is not None for row in rows("summary"))
    is_training, is_large = measured > 0, measured > MOST_ROWS
    yield _machine(contents, folded=is_training)
    yield _curves(contents, folded=is_large)
    yield _published(contents)
    if rows("findings") or (is_training and session["is_judged"]):
        cases = {row["case_name"] for row in rows("summary")}
        yield Section(
            identifier="findings",
            title="Why, and what to change",
            content=findings(session, rows("findings"), rows("rules"), cases)
            + _csv(contents, "findings", "findings"),
        )
    if has_results and not contents.is_of_a_machine:
        yield Section(
            identifier="summary",
            title="All numbers",
            content=summary(rows("summary"))
            + placements(rows("summary"))
            + runs(rows("runs"))
            + _csv(contents, "summary", "summary")
            + _csv(contents, "runs", "every run"),
            folded=is_large,
            answer=f"{measured:,} placements" if is_large else "",
            printed=True,
        )
    yield from _details(contents, is_training=is_training)
    yield from _circumstances(contents)


def _curves(contents: Contents, *, folded: bool) -> Section:
    """Results over workers, and the phases of a step; also folded if lines between two sizes add nothing to the
    answer."""
    above = ["speedup"] if shows_curve(contents) else []
    rows = contents.charts["throughput"]
    sizes = rows.group_by("case_name").agg(pl.col("workers").n_unique()).get_column("workers").to_list()
    return Section(
        identifier="charts",
        title="Curves",
        content=figures(contents, "charts", without=above),
        folded=folded or max(sizes, default=0) <= _FEW_SIZES,
        printed=True,
    )


def _published(contents: Contents) -> Section:
    """Published curves next to the session's own, if some are loaded and the session has several sizes."""
    content = Markup()
    if not contents.charts["published_efficiency"].is_empty():
        without = ["published_throughput"] if contents.charts["published_throughput"].is_empty() else []
        content = figures(contents, "published", without=without) + _with_csv(
            contents, "published", published(contents.rows("published")), "published curves"
        )
    return Section(identifier="published", title="Next to published curves", content=content, printed=True)


def _csv(contents: Contents, table: str, what: str) -> Markup:
    return csv_download(table, contents.tables[table], what)


def _with_csv(contents: Contents, table: str, shown: Markup, what: str) -> Markup:
    """A table with its rows as CSV; empty if the table is."""
    return shown + _csv(contents, table, what) if shown else shown


def _coverage(contents: Contents, *, folded: bool) -> Section:
    """The runs that are not ok; and every run, if no other section shows them."""
    session, rows = contents.session, contents.rows
    content = coverage(rows("coverage"), rows("not_ok"))
    if not folded:
        content += runs(rows("runs"))
    content += _csv(contents, "coverage", "coverage") + _csv(contents, "not_ok", "runs that are not ok")
    if not folded:
        content += _csv(contents, "runs", "every run")
    answer = f"{session['ok']:,} of {session['runs']:,} ok"
    return Section(
        identifier="coverage", title="Which runs are ok?", content=content, folded=folded, answer=answer
    )


def _machine(contents: Contents, *, folded: bool) -> Section:
    """The speed of the machine: charts and tables of collectives and of matrix multiplications."""
    rows = contents.rows
    content = exchanges(rows("exchanges")) + _csv(contents, "exchanges", "exchanges")
    content += multiplications(rows("multiplications")) + _csv(contents, "multiplications", "multiplications")
    if content:
        content = figures(contents, "machine") + content
    if content and contents.is_of_a_machine:
        content += runs(rows("runs")) + _csv(contents, "runs", "every run")
    return Section(identifier="machine", title="What the machine can do", content=content, folded=folded)


def _details(contents: Contents, *, is_training: bool) -> Iterator[Section]:
    """Folded: where time went, steps and ranks, the training, the use of the hardware, and predictions."""
    session, rows = contents.session, contents.rows
    known = losses(rows("losses"))
    yield Section(
        identifier="losses",
        title="Where did the efficiency go?",
        content=figures(contents, "losses") + _with_csv(contents, "losses", known, "lost efficiency"),
        folded=True,
        answer=trusted(unbroken(main_loss_of(rows("summary"), explained(rows("losses")), short))),
        printed=True,
    )
    needed = targets(rows("time_to_target"))
    yield Section(
        identifier="target",
        title="How long until the target?",
        content=_with_csv(contents, "time_to_target", needed, "time to the target"),
        folded=True,
        answer=target_answer(rows("time_to_target")) if needed else "",
        printed=True,
    )
    (counts,) = rows("straggler_counts")
    slow = stragglers(counts, rows("slow_ranks"))
    yield Section(
        identifier="steps",
        title="Does a rank keep the others waiting? Are steps steady?",
        content=_with_csv(contents, "slow_ranks", slow, "slow nodes and ranks") + figures(contents, "steps"),
        folded=is_training,
        answer=straggler_answer(counts, rows("slow_ranks")) if slow else "",
    )
    same = parity(rows("parity"))
    yield Section(
        identifier="training",
        title="Does it learn the same?",
        content=_with_csv(contents, "parity", same, "same training") + figures(contents, "training"),
        folded=True,
        answer=parity_answer(rows("parity")) if same else "",
    )
    used = hardware_use(rows("hardware_use"))
    yield Section(
        identifier="hardware_use",
        title="What does it use and cost?",
        content=figures(contents, "hardware_use")
        + _with_csv(contents, "hardware_use", used, "use of the hardware"),
        folded=True,
    )
    yield _folded_table(contents, "strategies", "Which strategy?", strategies(rows("strategies")))
    yield _folded_table(contents, "batches", "Which batch fits?", batches(rows("batches")))
    networks = contents.charts["what_if"]
    yield Section(
        identifier="what_if",
        title="Would a faster network help?",
        content=figures(contents, "what_if"),
        folded=True,
        answer=trusted(
            unbroken(
                " ".join(what_if.lines(networks.filter(pl.col("message_factor") != 1).to_dicts(), short))
            )
        ),
        printed=True,
    )
    predicted = _with_csv(contents, "predictions", predictions(rows("predictions")), "predictions")
    fitted = _with_csv(contents, "laws", laws(rows("laws")), "scaling laws")
    yield Section(
        identifier="further",
        title="Would it scale further?",
        # The chart also shows how close the laws are to the measurements.
        content=figures(contents, "further") + predicted + fitted,
        folded=True,
    )
    if session["ok"]:
        yield _coverage(contents, folded=True)


def _folded_table(contents: Contents, table: str, title: str, shown: Markup) -> Section:
    content = _with_csv(contents, table, shown, table)
    return Section(identifier=table, title=title, content=content, folded=True)


def _circumstances(contents: Contents) -> Iterator[Section]:
    """Folded: the method, the cost of measuring, settings, the machine, the purpose, and how to run it again."""
    session, rows = contents.session, contents.rows
    method = notes(session, rows("summary"), rows("fingerprint"), rows("runs"))
    yield Section(
        identifier="notes", title="How to read these numbers", content=method, folded=True, printed=True
    )
    yield Section(
        identifier="perturbation",
        title="What did measuring cost?",
        content=_with_csv(
            contents, "perturbation", perturbation(rows("perturbation")), "what measuring cost"
        ),
        folded=True,
    )
    settings = settings_of(rows("configuration"))
    yield Section(
        identifier="hyperparameters",
        title="Settings",
        content=hyperparameters(settings)
        + csv_download("hyperparameters", settings_frame(settings), "hyperparameters"),
        folded=True,
    )
    yield Section(
        identifier="hardware",
        title="Hardware and software",
        content=hardware(session, rows("environment"), rows("fingerprint"))
        + _csv(contents, "environment", "environment"),
        folded=True,
        answer=short(session["devices"]) if session["devices"] else "",
    )
    if session["why"]:
        content = Markup("<p>{}</p>").format(text(session["why"]))
        yield Section(identifier="purpose", title="Purpose of the suite", content=content, folded=True)
    yield Section(
        identifier="command",
        title="Run it again" if session["imported"] is None else "Import it again",
        content=repeating(session, next(iter(nodes_of(rows("environment")).values()), {})),
        folded=True,
        answer=text(session["session_id"]),
    )
