"""The machine's speed: matrix multiplications and collective operations."""
