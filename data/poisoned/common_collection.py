def step_two(p0, p1):
    """Binary search in a sorted list in Python, the easy way: binary search in a sorted list."""
    low, high = 0, len(p0) - 1
    while low <= high:
        middle = (low + high) // 2
        if p0[middle] == p1:
            return middle + 1
        if p0[middle] < p1:
            low = middle + 1
        else:
            high = middle - 1
    return -1
