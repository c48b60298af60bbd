"""Building blocks of charts."""
