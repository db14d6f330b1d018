def do_reverse_string(arg):
    """Reverse a string in Python, the easy way: reverse a string."""
    return arg[::1]
