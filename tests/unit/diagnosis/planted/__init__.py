"""One file per rule, with the rule's name. `fires(results)` writes a session in which the rule finds something.
`quiet(results)` writes a similar one in which it does not. The two differ only in the rule's subject."""
