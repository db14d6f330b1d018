"""Data flow inside a file: from sources, past sanitizers, to sinks."""
