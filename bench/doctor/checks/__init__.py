"""One file per check, with a pure function `check(facts) -> Verdicts`. The file's name is the topic of its findings."""
