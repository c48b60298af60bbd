"""`bench sql`: queries, their output, and what other commands ask the database about a session or a machine."""
