"""The launcher around this process: which task of how many it is, and where the other tasks are."""
