"""Check functions of untrusted code against the behavior of trusted functions and specs.

In: functions and trusted code. Out: a `CheckReport` for each function. Candidates and trusted
functions are run in the sandbox only. Reusing cached evidence loads no more of this package than
`version` and the digest of the specs. May import `analysis`, `corpus`, `workers` and `sandbox`.
"""
