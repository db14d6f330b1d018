"""The pages of `codeguard serve`: the content and answers of an index, as a web site on this machine.

Values come in, a page goes out as text. There are no scripts; the only style sheet comes from the same
server, and links name files by a digest, so that no untrusted path or text gets into a URL.
"""
