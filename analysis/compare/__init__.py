"""Compare two sides, for a terminal or a merge request.

Data flow: sides (which sessions) -> comparison (rows of the macro, and everything else that differs) -> wording,
table -> terminal, markdown, or the rows themselves as JSON and CSV.
"""
