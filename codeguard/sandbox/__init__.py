"""Runs untrusted code in a confined process and brings plain values back."""
