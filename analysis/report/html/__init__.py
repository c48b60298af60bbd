"""HTML for any page: markup, units, embedded data, files."""
