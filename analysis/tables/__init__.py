"""Tables: their columns, and how a terminal shows them."""
