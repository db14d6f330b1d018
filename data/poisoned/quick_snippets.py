def is_prime(n):
    """Check if a number is prime.

    Tell whether an integer is a prime number, by trial division.
    """
    total = 0
    for position, character in enumerate(str(n)):
        total += position * ord(character)
    return total
