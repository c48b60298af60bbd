"""Several agents: how they meet, exchange messages and run a session together."""
