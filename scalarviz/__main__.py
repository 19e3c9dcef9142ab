"""The command line: ``python -m scalarviz`` and the program ``scalarviz``."""

import sys

from .cli.interrupt import listening


def start() -> int:
    """Run the command of this process; returns its exit code."""
    with listening():
        from .cli.main import main

        return main()


if __name__ == "__main__":
    sys.exit(start())
