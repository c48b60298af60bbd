-- One row per suite with a case and placement that was measured in two sessions or more, so that they can be compared.
SELECT suite, count(DISTINCT session_id) AS sessions
FROM history
GROUP BY suite
HAVING bool_or(previous_session_id IS NOT NULL)
ORDER BY suite;
