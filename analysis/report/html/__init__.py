"""HTML without knowledge of any page: markup, units, embedded data, files."""
