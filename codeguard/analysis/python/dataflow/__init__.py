"""Data flow inside a file: from sources, through sanitizers, to sinks."""
