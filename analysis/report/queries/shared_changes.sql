-- One row per change of level that all cases of a suite share, newest first, in columns of the query history.
SELECT
    subject AS panel, session_order, session_id, strftime(created_at, '%Y-%m-%d %H:%M') AS began,
    direction AS verdict, direction = 'slower' AS regression, direction = 'faster' AS improvement,
    ratio AS level_ratio, ratio_lo AS level_ratio_lo, ratio_hi AS level_ratio_hi, level_first_order, level_last_order,
    first_order, returns, cause, changes, changes AS changes_then, nullif(changes, '') AS marked
FROM shared_changes
JOIN (SELECT session_id, created_at FROM sessions) AS began USING (session_id)
WHERE suite = $suite
ORDER BY session_order DESC, panel;
