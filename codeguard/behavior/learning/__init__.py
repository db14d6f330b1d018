"""Evidence from the tests that a team runs anyway: a command in, recorded specs of trusted functions out.

`recording` runs the command with a recorder inside (`inside`), `samples` turns what it saw into examples and leaves
out what looks like a secret, `selection` runs them in the sandbox on the trusted functions and keeps the
few that hold and differ most. May import what `codeguard.behavior` may.
"""
