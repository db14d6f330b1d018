"""What runs on the other side of the border: the zygote and its confined children.

These files are started in an interpreter of their own, without site-packages
and without the rest of codeguard; they import the standard library and each
other. The host imports from here only plain tables (`wire`, `policy` for its
version).
"""
