"""Power, clocks, memory and utilisation, sampled by a separate process."""
