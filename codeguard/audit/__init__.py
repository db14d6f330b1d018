"""Findings about files as they would enter the corpus, without a vector store or an embedding.

Paths or staged files come in, an `AuditReport` goes out; `codeguard.audit.run` combines the parts. May import
`ranking`, for the signals that examine a chunk, and the packages below it.
"""
