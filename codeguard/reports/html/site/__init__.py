"""The pages of `codeguard serve`: what an index holds and answers, as a web site on this machine.

In come values, out goes a page as text. There is no script; the one style sheet comes from the same server, and
links name files by a digest, so that no path or text of others gets into an address.
"""
