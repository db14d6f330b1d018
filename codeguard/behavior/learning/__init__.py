"""Learn specs of trusted functions from a run of the team's own tests.

In: a command. Out: recorded specs. `recording` runs the command with a recorder inside (`inside`),
`samples` turns the recorded calls into examples and drops those that look like secrets, and
`learn` runs them in the sandbox on the trusted functions and keeps a few varied ones that hold.
May import what `codeguard.behavior` may.
"""
