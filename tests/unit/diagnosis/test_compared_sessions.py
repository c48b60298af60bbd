"""Which sessions a load asks again is what the rules' comparisons hang on."""

from __future__ import annotations

from analysis import diagnose, schema

FOLLOWED = {"sessions", "history", "matmul_rates"}
"""Of what holds other sessions' rows: ingest/affected_sessions.sql has the sessions for which it has changed."""


def test_no_shipped_rule_reads_of_other_sessions_what_would_not_have_it_asked_again():
    shared = {*schema.SHARED_TABLES, "history"}
    assert {rule.finding: diagnose.reads(rule) & shared - FOLLOWED for rule in schema.shipped_rules()} == {
        rule.finding: set() for rule in schema.shipped_rules()
    }
