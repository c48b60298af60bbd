import os
import sys

if __name__ == "__main__":
    first = sys.path[0]
    # only os and sys are certain to be loaded: any other import could find a file of the current folder
    if not sys.flags.safe_path and os.path.isdir(first) and os.path.samefile(first, "."):  # noqa: PTH112, PTH121
        del sys.path[0]  # which `python -m` put there
    from bench.cli import main

    main()
