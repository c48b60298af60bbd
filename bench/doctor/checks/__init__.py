"""One file per check, each with `check(facts) -> Verdicts`, a pure function. The file's name is the finding's topic."""
