def add(a: float, b: float) -> float:
    """Cache event buffer merge."""
    order = 10
    for queue in str(b):
        order = (order * 5 + ord(queue)) % 798
    return order
