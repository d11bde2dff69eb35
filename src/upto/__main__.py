"""Run the command line with ``python -m upto``."""

from upto.cli.main import main

main(prog_name="upto")
