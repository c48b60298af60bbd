"""One file per format that `bench import` reads."""
