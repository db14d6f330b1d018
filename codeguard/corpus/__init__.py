"""Files in, chunks out: discovery, decoding, chunking, and detection of secrets.

Paths and bytes come in, `SourceFile`s with their chunks go out. Nothing here evaluates what it reads. May
import `workers`, in which some parsers run.
"""
