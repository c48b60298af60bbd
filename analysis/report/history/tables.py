"""The tables of a history: regressions, sessions with what changed, every figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, attribute, details, folded, short, table, text, unordered
from analysis.report.summary_table import label
from analysis.summary_columns import throughput_unit

Link = Callable[[str], str | None]
"""The file name of a session's page, null where there is none."""
_TONES = {"faster": "good", "slower": "fair", "same": "none", "inconclusive": "none"}
_MOST_ROWS = 60
"""Of a table that one still reads; beyond it is folded away."""


def regressions(rows: Sequence[Row], link: Link) -> str:
    """The newest session first; a sentence where there are none."""
    if not rows:
        return (
            '<p class="empty">None: no case and placement became slower beyond 2 % for certain, with the same settings '
            "on the same model of device.</p>"
        )
    columns = [
        Column(label="session", cell=lambda row: _session(row, link)),
        _CASE,
        _PLACEMENT,
        _RATIO,
        Column(label="changed since", cell=_changes),
        Column(label="compared with", cell=lambda row: _linked(row["previous_session_id"], link)),
        _usual(),
    ]
    return table("Regressions: one row per case and placement, newest first", columns, rows)


def sessions(rows: Sequence[Row], link: Link) -> str:
    """One row per session, newest first, with what changed."""
    columns = [
        Column(label="session", cell=lambda row: _session(_with_day(row), link)),
        Column(label="placements", cell=_placements),
        Column(label="verdicts", cell=_verdicts),
        Column(label="changed: must be equal", cell=lambda row: _facts(row["changes"])),
        Column(label="changed: settings", cell=lambda row: _facts(row["other_settings"])),
        Column(label="changed: worth knowing", cell=lambda row: _facts(row["also_changes"])),
    ]
    return table("Sessions: one row each, newest first", columns, rows)


def figures_table(rows: Sequence[Row], link: Link) -> str:
    """Every case, placement and session, newest first."""
    unit = throughput_unit([row for row in rows if row["throughput"] is not None])
    columns = [
        Column(label="session", cell=lambda row: _session(row, link)),
        _CASE,
        _PLACEMENT,
        Column(
            label=f"{unit} [95\u00a0%]",
            cell=lambda row: units.with_interval(
                row["throughput"], row["throughput_lo"], row["throughput_hi"]
            ),
            numeric=True,
        ),
        _RATIO,
        Column(label="verdict", cell=_verdict),
        Column(label="efficiency [95\u00a0%]", cell=_efficiency, numeric=True),
        Column(
            label="step",
            cell=lambda row: units.with_interval(row["step_ms"], row["step_ms_lo"], row["step_ms_hi"], "ms"),
            numeric=True,
        ),
        Column(label="ok repeats", cell=lambda row: f"{row['repeats']:,} of {row['runs']:,}", numeric=True),
    ]
    whole = table("Every figure: one row per session, case and placement, newest first", columns, rows)
    return whole if len(rows) <= _MOST_ROWS else details(f"All {len(rows):,} rows", whole, "printed")


def _with_day(row: Row) -> Row:
    return {**row, "began": f"{row['created_at']:%Y-%m-%d %H:%M}" if row["created_at"] else units.UNKNOWN}


def _session(row: Row, link: Link) -> str:
    """Its number, which is its place on the charts, when it began, and its id."""
    quick = ' <span class="quick">quick</span>' if row.get("quick") else ""
    return (
        f"{row['session_order']:,} · {text(row['began'])}{quick}"
        f'<span class="below">{_linked(row["session_id"], link)}</span>'
    )


def _linked(session_id: str | None, link: Link) -> str:
    if session_id is None:
        return units.UNKNOWN
    file_name = link(session_id)
    return f'<a href="{attribute(file_name)}">{short(session_id)}</a>' if file_name else short(session_id)


def _changes(row: Row) -> str:
    return _facts(row["changes"]) if row["changes"] else "nothing that must be equal"


def _facts(facts: str | None) -> str:
    return unordered(map(folded, facts.split("; "))) if facts else units.UNKNOWN


def _placements(row: Row) -> str:
    return (
        f"{row['measured']:,} of {row['placements']:,}"
        if row["measured"] < row["placements"]
        else f"{row['measured']:,}"
    )


def _verdicts(row: Row) -> str:
    """Regressions are slower, too, and counted once."""
    counts = {**{name: row[name] for name in _TONES}, "slower": row["slower"] - row["regressions"]}
    found = [
        *([label("bad", _regressions(row["regressions"]))] if row["regressions"] else []),
        *(label(_TONES[name], f"{count:,} {name}") for name, count in counts.items() if count),
        *([label("none", f"{row['unlike']:,} unlike")] if row["unlike"] else []),
        *([label("none", f"{row['first_seen']:,} for the first time")] if row["first_seen"] else []),
    ]
    return " ".join(found) or units.UNKNOWN


def _regressions(count: int) -> str:
    return f"{count:,} {'regression' if count == 1 else 'regressions'}"


def _verdict(row: Row) -> str:
    if row["regression"]:
        return label("bad", "slower: regression")
    if row["oversubscribed"]:
        return label("none", "oversubscribed")
    if row["is_alike"] is False:
        return label("none", f"unlike: {row['unlike']}")
    return label(_TONES[row["verdict"]], row["verdict"]) if row["verdict"] else units.UNKNOWN


def _efficiency(row: Row) -> str:
    """A baseline is its own measure, so that its interval is none."""
    if row["is_baseline"] or row["scaling"] == "none":
        return units.UNKNOWN
    return units.with_interval(row["efficiency"], row["efficiency_lo"], row["efficiency_hi"], "%", 100)


def _usual() -> Column:
    """What sessions differ by anyway."""
    return Column(
        label="usual",
        cell=lambda row: (
            units.UNKNOWN
            if row["usual_lo"] is None
            else f"{units.number(row['usual_lo'])} … {units.number(row['usual_hi'])}"
        ),
        numeric=True,
    )


_CASE = Column(label="case", cell=lambda row: text(row["panel"]))
_PLACEMENT = Column(label="placement", cell=lambda row: text(row["placement"]))
_RATIO = Column(
    label="ratio [95\u00a0%]",
    cell=lambda row: units.with_interval(row["ratio"], row["ratio_lo"], row["ratio_hi"], "×", apart_from=1),
    numeric=True,
)
