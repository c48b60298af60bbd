-- One row per table or view that has a session: its name, and whether it is a view.
SELECT table_name, table_name IN (SELECT view_name FROM duckdb_views()) AS is_view
FROM duckdb_columns()
WHERE column_name = 'session_id' AND NOT internal AND schema_name = 'main';
