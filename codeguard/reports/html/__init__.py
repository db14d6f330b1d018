"""Reports as one HTML page each that loads nothing: no script, no font, no picture, and a policy that forbids them.

In come the same values as for text and JSON, out goes the page as text. Everything untrusted is escaped twice:
characters that act unseen are written out, then the ones that HTML knows.
"""
