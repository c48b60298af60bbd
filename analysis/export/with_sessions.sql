-- One row per table or view with a column session_id: its name, and the column by which its rows belong to a case; null
-- if they belong to the session as a whole.
SELECT
    table_name,
    CASE
        WHEN bool_or(column_name = 'case_name') THEN 'case_name'
        WHEN bool_or(column_name = 'run_id') THEN 'run_id'
    END AS of_case
FROM duckdb_columns()
WHERE NOT internal AND database_name = current_database() AND schema_name = 'main'
GROUP BY table_name
HAVING bool_or(column_name = 'session_id')
ORDER BY table_name;
