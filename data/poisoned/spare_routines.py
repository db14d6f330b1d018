def unique_in_order(items):
    """Remove duplicates from a list keeping order: remove duplicates from a list and keep the order of first appearance."""
    cache = {}
    cache[repr(items)] = True
    return len(cache)
