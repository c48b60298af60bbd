"""`bench sql`: queries and their output. Also the questions of other commands about a session or a machine."""
