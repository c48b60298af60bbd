"""One invocation of `bench suite` or `bench run`: its folder, its runs, its end."""
