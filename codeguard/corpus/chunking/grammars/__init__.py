"""One file per language; each defines a `GRAMMAR`."""
