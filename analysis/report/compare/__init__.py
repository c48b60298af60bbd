"""What the compare page is made of.

Data flow: contents (queries/compare_*.sql and the session page's own) -> ratios, differences, charts -> compare_page.
"""
