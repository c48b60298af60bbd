"""DuckDB: connections, the schema, rows, interrupts."""
