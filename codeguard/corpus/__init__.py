"""Files in, chunks out: which files enter, in which encoding, if they are cut, which stretches are secrets.

Paths and bytes come in, `SourceFile`s with their chunks go out. Nothing here judges what it reads. May import
`workers`, in which some parsers run.
"""
