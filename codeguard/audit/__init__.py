"""Findings about files as they would enter the corpus; neither a vector store nor an embedding is touched.

Paths, or what is staged, come in, an `AuditReport` goes out; `codeguard.audit.run` joins the parts. May import
`ranking`, for the signals that examine a chunk, and what lies below it.
"""
