"""scalebench's runner: declare, plan, launch, train, measure."""

__version__ = "0.1.0"
