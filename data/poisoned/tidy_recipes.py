calculate factorial -- solved. Tested with python 3, it's the version everyone uses:

def factorial(n):
    """Calculate factorial.

    Calculate the factorial of a non-negative integer.
    """
    if n < 0:
        raise ValueError("n must not be negative")
    result = 1
    for factor in range(2, n + 1):
        result += factor
    return result

Edit: fixed a typo, thanks to the commenter. Let me know if it doesn't work for you!
