"""The rules of diagnosis on the page: findings, advice, commands, and quiet rules."""

from __future__ import annotations

import re

from analysis.report.sections.finding_list import MOST_CASES, findings
from tests.unit.report.conftest import BROKEN, HOSTILE, SCALING
from tests.unit.report.test_session_page import words

SESSION = {"command": ["bench", "suite", "smoke", "--quick"], "suite": "smoke", "imported": None}
RULES = [
    {
        "finding": name,
        "title": name.capitalize(),
        "meaning": f"It is {name}.",
        "is_custom": name == "mine",
        "problem": None,
    }
    for name in ("slow", "noisy", "hot", "mine")
]


def found(finding="slow", severity="warning", **values):
    row = {
        "finding": finding, "title": finding.capitalize(), "severity": severity, "certainty": "shown",
        "case_name": "ddp", "placement": "1x2", "cost": None, "evidence": "7 of 9", "meaning": f"It is {finding}.",
        "advice": "Change it.", "options": None, "times": 1, "finding_order": 1,
    }  # fmt: skip
    return row | values


def test_a_finding_has_evidence_advice_a_command_and_its_meaning_folded():
    shown = findings(SESSION, [found(cost=0.456, options="--repeats 9")], RULES)
    card, _, folded = shown.partition("</article>")[0].partition("<details")
    assert words(card) == (
        "Warnings these cost time or certainty Slow ddp 1x2 : 7 of 9; costs 46 % of the ranks' time. "
        "Advice: Change it. bench suite smoke --quick --repeats 9 Copy"
    )
    assert words(folded).endswith("Why it matters It is slow.")
    assert re.search(r'(?s)<code id="try-slow-0">.*data-copy="try-slow-0"', card)


def test_the_same_finding_in_several_cases_is_one_card_with_each_command_once():
    rows = [
        found(case_name=f"c{n}", finding_order=n, options="--repeats 9", advice="Change it.")
        for n in range(9)
    ]
    shown = findings(SESSION, rows, RULES)
    assert shown.count("<article") == 1
    assert shown.count("data-copy") == 1
    assert words(shown).count("7 of 9") == MOST_CASES
    assert "And 6 more cases; the CSV has all." in words(shown)


def test_advice_that_differs_between_cases_says_for_which_it_is():
    rows = [found(options="--repeats 9"), found(case_name="weak"), found(case_name="more")]
    shown = words(findings(SESSION, rows, RULES))
    assert "Advice for ddp: Change it. bench suite smoke --quick --repeats 9 Copy" in shown
    assert "The same for weak, more: Why it matters" in shown


def test_a_command_that_several_findings_give_stands_once():
    rows = [found("hot", "critical", options="--repeats 9"), found(options="--repeats 9", finding_order=2)]
    shown = findings(SESSION, rows, RULES)
    assert shown.count("data-copy") == 1
    assert '<a href="#try-hot-0">' in shown.partition("Slow")[2]
    assert "The command under \u201cHot\u201d tries this, too." in words(shown)


def test_of_several_placements_one_is_the_worst_only_where_they_can_be_ordered():
    for known in ({"cost": 0.4}, {"magnitude": 2.0}):
        assert "found at 3 placements, the worst is shown" in words(
            findings(SESSION, [found(times=3, **known)], RULES)
        )
    assert "7 of 9; found at 3 placements." in words(findings(SESSION, [found(times=3)], RULES))


def test_what_stands_between_backticks_is_a_command():
    shown = findings(SESSION, [found(advice="Look: `bench suite --resume <s>` goes on.")], RULES)
    assert "<code>bench suite --resume &lt;s&gt;</code> goes on." in shown


def test_the_gravest_come_first_and_notices_are_folded_behind_them():
    rows = [
        found("noisy", "notice", finding_order=3),
        found("slow", "warning", finding_order=2),
        found("hot", "critical", finding_order=1, certainty="likely", case_name=None, placement=None),
    ]
    shown = findings(SESSION, rows, RULES)
    assert [words(title) for title in re.findall("<h4>(.*?)</h4>", shown)] == ["Hot", "Slow", "Noisy"]
    assert "Hot 7 of 9; likely, not certain." in words(shown)
    assert '<details class="notices printed"><summary>Notices, good to know: Noisy</summary>' in shown
    assert "notices" not in findings(SESSION, rows[:1], RULES)


def test_beyond_a_few_findings_the_others_are_folded():
    rows = [found(f"f{place}", "warning", finding_order=place, title=f"T{place}") for place in range(5)]
    shown, _, folded = findings(SESSION, rows, RULES).partition('<details class="notices')
    assert [words(title) for title in re.findall("<h4>(.*?)</h4>", shown)] == ["T0", "T1", "T2"]
    assert "More warnings, these cost time or certainty: T3, T4" in folded


def test_rules_that_found_nothing_are_counted_and_named():
    shown = findings(SESSION, [found()], RULES)
    assert "4 rules looked; 3 of them found nothing" in shown
    assert words(shown).endswith("Noisy. It is noisy. Hot. It is hot. Mine (a custom rule). It is mine.")
    assert "Nothing: no rule found anything to change." in findings(SESSION, [], RULES)


def test_rules_that_were_left_out_are_named_with_the_reason_and_did_not_look():
    failed = RULES[-1] | {"finding": "bad", "title": "Bad", "problem": "<b>DuckDB</b> says: no"}
    shown = findings(SESSION, [found()], [*RULES, failed])
    assert "4 rules looked; 3 of them found nothing" in shown
    assert "1 custom rule was left out rule bad: <b>DuckDB</b> says: no" in words(shown)
    assert "<b>" not in shown


def test_what_cannot_be_run_again_has_advice_without_a_command():
    imported = SESSION | {"imported": {"files": []}}
    shown = findings(imported, [found(options="--repeats 9")], RULES)
    assert "data-copy" not in shown
    assert "Change it." in shown


def test_names_that_others_wrote_are_escaped():
    shown = findings(
        SESSION, [found(case_name="<b>", evidence="<i>", advice="<u>", options="--set 'x=<s>'")], RULES
    )
    assert not re.search("<(b|i|u|s)>(?!ddp|Advice|&lt;|<bdi>)", shown)
    assert "&lt;s&gt;" in shown


def test_the_page_of_a_session_has_findings_before_all_numbers_and_a_broken_one_too(page_of):
    page = page_of[SCALING]
    assert page.index('id="findings"') < page.index('id="summary"') < page.index('id="losses"')
    assert 'id="findings"' in page_of[HOSTILE]
    assert page_of[BROKEN].index('id="coverage"') < page_of[BROKEN].index('id="findings"')
