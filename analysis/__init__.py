"""scalebench's analysis: load, query, summarise, report. Of the runner it knows the files, and bench/records."""
