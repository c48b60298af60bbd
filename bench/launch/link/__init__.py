"""How the agents of a step talk: a secret that they share, authenticated messages, and where they meet."""
