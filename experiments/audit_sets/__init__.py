"""Frozen evaluation sets of the audit: labelled snippets that the rules were not written from.

The snippets stand in TOML files, so that no tool that walks Python files
takes them for code of the project. `pairs.load_pairs` reads them.
"""
