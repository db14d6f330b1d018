"""Attacks on the sandbox: one table a category, proven to work before they are turned on it."""
