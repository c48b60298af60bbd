"""Import timings that were measured elsewhere: detect a file's format, parse it, check the rows, write a session.

Nothing is written unless every row of every file is valid. An imported run has a total time and no steps."""
