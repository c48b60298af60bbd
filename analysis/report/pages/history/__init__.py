"""The page that shows all sessions of a suite."""
