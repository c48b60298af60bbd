-- One row per case of the session, planned or run: its name.
SELECT case_name FROM planned_runs WHERE session_id = $1
UNION
SELECT case_name FROM runs WHERE session_id = $1
ORDER BY case_name;
