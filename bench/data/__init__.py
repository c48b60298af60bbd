"""Examples: which one comes when, how it is read or generated, and how it reaches the rank."""
