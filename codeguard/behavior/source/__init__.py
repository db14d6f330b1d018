"""Python source read without running it: definitions, constants, and what a function needs to run."""
