"""The page that compares sessions."""
