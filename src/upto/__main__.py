"""Run the command line with ``python -m upto``."""

from upto.cli.main import main

if __name__ == "__main__":
    main(prog_name="upto")
