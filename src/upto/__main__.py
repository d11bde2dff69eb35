"""Entry point of the command `upto` and of ``python -m upto``."""

from __future__ import annotations

import sys

# Import nothing else here, so that a signal during imports ends a command cleanly too.


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        from upto.cli.process import run

        code = run()
    except KeyboardInterrupt:
        from upto.cli.interrupts import exit_code, what_happened

        sys.stderr.write(f"upto: {what_happened()}; nothing was left half written.\n")
        code = exit_code()
    from upto.cli.interrupts import leave

    leave(code)


if __name__ == "__main__":
    main()
