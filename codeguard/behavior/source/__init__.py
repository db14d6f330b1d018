"""Read Python source without running it: definitions, constants, and the code that a function needs."""
