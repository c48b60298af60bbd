-- One row per suite with a history, that of the newest session first; published tables come last.
SELECT suite
FROM history
JOIN (SELECT session_id, origin_of(imported) = 'published' AS is_published FROM sessions) AS origins USING (session_id)
GROUP BY suite
ORDER BY bool_and(is_published), max(created_at) DESC, suite;
