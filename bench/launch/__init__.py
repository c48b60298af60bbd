"""Where and when: sessions, agents, the processes that ranks are forked from."""
