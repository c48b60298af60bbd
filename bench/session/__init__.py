"""One invocation of `bench suite`: its folder, its runs, its end."""
