"""`python -P -m codeguard` is the command line; without -P the current folder's modules would run first."""

from codeguard.cli import main

if __name__ == "__main__":
    main(prog_name="codeguard")
