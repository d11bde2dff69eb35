"""The command `upto`, and ``python -m upto``."""

from __future__ import annotations

import sys

# Nothing else is imported here: a signal while modules are loaded ends a command as any other.


def main() -> None:
    """Run the command line in a process of its own."""
    try:
        from upto.cli.process import run

        code = run()
    except KeyboardInterrupt:
        from upto.cli.interrupts import exit_code, what_happened

        sys.stderr.write(f"upto: {what_happened()}; nothing was left half written.\n")
        code = exit_code()
    sys.exit(code)


if __name__ == "__main__":
    main()
