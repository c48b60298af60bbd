"""Two sides compared, on a terminal or for a merge request.

Data flow: sides (which sessions) -> comparison (rows of the macro, and what they do not say) -> sentence, cells ->
terminal, markdown, or the rows themselves as JSON and CSV.
"""
