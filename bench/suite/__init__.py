"""What to measure: a YAML file becomes a checked, frozen suite.

In the order in which data flows: find (which file), source (text to nodes that know their place), merge (nodes laid
over nodes), resolve (quick, cases, --set, matrix), models (what a case may say), check (problems in words), and
schema (the same for editors).
"""
