"""The command `upto`, and ``python -m upto``."""

from __future__ import annotations

import sys

# Nothing else is imported here: an interrupt while modules are loaded is an interrupt too.


def main() -> None:
    """Run the command line in a process of its own."""
    try:
        from upto.cli.process import run

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("upto: interrupted; nothing was left half written.\n")
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
