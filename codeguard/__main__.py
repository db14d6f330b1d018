"""`python -m codeguard` is the command line."""

from codeguard.cli import main

if __name__ == "__main__":
    main(prog_name="codeguard")
