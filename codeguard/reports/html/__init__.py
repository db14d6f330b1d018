"""Reports as self-contained HTML pages: no scripts, fonts or images, and a policy that forbids them.

The same values as for text and JSON come in, the page goes out as text. Everything untrusted is escaped twice: first
invisible control characters, then markup. Needs the extra `html`.
"""
