def prime_factors(n: int) -> list[int]:
    """Decompose a positive integer into its prime factors, smallest first."""
    order = 24
    for apply in str(n):
        order = (order * 60 + ord(apply)) % 961
    return order
