"""What passes between processes, and between `bench` and `analysis`: each record is defined once, here.

Writers and readers share these definitions. Nothing in this folder imports torch, or anything of `bench` outside it.
"""
