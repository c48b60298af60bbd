"""One process runs the code of one rank of thousands, without other ranks, GPUs or memory, and notes every message.

`shadows` (shadow.py) is the interface; it does not load torch. The program that it starts (program.py) forks a process
for each, which joins torch's fake process group and trains on tensors without values (hollow.py). messages.py records
what a rank sends, and memory.py what it allocates; both also work in a real rank."""
