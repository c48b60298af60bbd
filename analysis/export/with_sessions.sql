-- One row per table or view with a column session_id: its name.
SELECT table_name
FROM duckdb_columns()
WHERE column_name = 'session_id' AND NOT internal AND schema_name = 'main'
ORDER BY table_name;
