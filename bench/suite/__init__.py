"""Suites: a YAML file becomes a checked, frozen list of cases.

resolve.py calls the others in this order: find (the file), yaml_nodes (values that know their place), merge (quick and
the suite's sections), shorthand, overrides (--set), matrix, check (by models.py), rules (keys that must fit together),
selection (--case, --world, --repeats, --device) and notes. json_schema.py describes suite files for editors.
"""
