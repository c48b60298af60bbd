"""scalebench's analysis: load, query, summarise, report. It uses the runner's files and the package bench/records."""
