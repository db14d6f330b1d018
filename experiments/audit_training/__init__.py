"""Examples and scripts that the models of the audit are trained with."""
