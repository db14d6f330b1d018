"""One file a language; each holds a `GRAMMAR`."""
