"""One file per rule, of its name: `fires(results)` writes a session in which it finds something, `quiet(results)` one
that is close to it and in which it does not. Both are like each other in all but what the rule is about."""
