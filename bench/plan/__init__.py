"""Plan a suite on the available slots: a list of runs."""
