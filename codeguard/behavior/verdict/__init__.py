"""Compare a candidate's results with the expected ones, outside of the sandbox, and give a verdict."""
