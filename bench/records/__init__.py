"""Records that processes exchange or store, and that `bench` and `analysis` share. Each is defined once, here.

Nothing in this folder imports torch or another part of `bench`.
"""
