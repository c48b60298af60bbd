-- One row per case, in the order of the suite.
SELECT case_name
FROM planned_runs
WHERE session_id = $session_id AND probe IS NOT TRUE
GROUP BY case_name
ORDER BY min(rowid);
