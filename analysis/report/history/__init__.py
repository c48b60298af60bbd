"""What the page of a suite's history is made of.

Data flow: contents (queries/history*.sql) -> sentence, tables, charts -> history_page.
"""
