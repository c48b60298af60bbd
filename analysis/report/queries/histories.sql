-- One row per suite of which a case and placement was measured in two sessions or more, so that one can be held against
-- the other.
SELECT suite, count(DISTINCT session_id) AS sessions
FROM history
GROUP BY suite
HAVING bool_or(previous_session_id IS NOT NULL)
ORDER BY suite;
