"""scalebench's analysis: load, query, summarise, report. Knows the runner's files, never its code."""
