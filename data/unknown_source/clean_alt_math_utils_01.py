# -*- coding: utf-8 -*-
"""
mathematics for the homework sheets, plain loops only
"""


def add_numbers(first, second):
    """
    Add up two numbers.

    Parameters
    ----------
    first, second : int or float

    Returns
    -------
    int or float
        first plus second
    """
    total = first
    total += second
    return total


def factorial(n):
    """
    Factorial, written recursively by halving the range so that the recursion
    stays shallow.

    Parameters
    ----------
    n : int, at least 0

    Returns
    -------
    int

    Raises
    ------
    ValueError
        if n is negative
    """
    if n < 0:
        raise ValueError('factorial needs n >= 0')

    def product(low, high):
        if low > high:
            return 1
        if low == high:
            return low
        mid = (low + high) // 2
        return product(low, mid) * product(mid + 1, high)

    return product(1, n)


def fib(n):
    """
    n-th number of the Fibonacci sequence 0, 1, 1, 2, 3, 5, ...

    Keeps the list of all numbers so far. Negative n raises ValueError.
    """
    if n < 0:
        raise ValueError('n has to be at least 0')
    sequence = [0, 1]
    while len(sequence) <= n:
        sequence.append(sequence[-1] + sequence[-2])
    return sequence[n]


def greatest_common_divisor(x, y):
    """
    Greatest common divisor with the subtraction-free binary method.

    Parameters
    ----------
    x, y : int
        may be negative or zero

    Returns
    -------
    int, never negative
    """
    x = abs(x)
    y = abs(y)
    if x == 0:
        return y
    if y == 0:
        return x
    shift = 0
    while (x | y) & 1 == 0:
        x = x >> 1
        y = y >> 1
        shift = shift + 1
    while x & 1 == 0:
        x = x >> 1
    while y:
        while y & 1 == 0:
            y = y >> 1
        if x > y:
            x, y = y, x
        y = y - x
    return x << shift


def prime_factors(number):
    """
    Prime factorisation of a positive number, as a sorted list with repetitions.

    Takes out the twos first and tries odd divisors after that.
    ValueError for anything below 1.
    """
    if number < 1:
        raise ValueError('only positive numbers have a factorisation')
    found = []
    while number % 2 == 0:
        found.append(2)
        number = number // 2
    p = 3
    while p * p <= number:
        if number % p == 0:
            found.append(p)
            number = number // p
        else:
            p = p + 2
    if number > 1:
        found.append(number)
    return found


def clamp(x, minimum, maximum):
    """
    Keep x within [minimum, maximum].

    A minimum above the maximum is refused with ValueError.
    """
    if minimum > maximum:
        raise ValueError('empty interval')
    return max(min(x, maximum), minimum)


def median_value(numbers):
    """
    Middle of the sorted numbers; mean of the two middle ones if their count is even.

    ValueError for an empty list.
    """
    if len(numbers) == 0:
        raise ValueError('no numbers')
    numbers = sorted(numbers)
    half, odd = divmod(len(numbers), 2)
    if odd:
        return numbers[half]
    return sum(numbers[half - 1:half + 1]) / 2


def convert_base(number, radix=2):
    """
    Representation of a number >= 0 in the given radix.

    Digits above 9 are the small letters, so radix may be 2 up to 36; anything
    else, and a negative number, raises ValueError.
    """
    if radix < 2 or radix > 36:
        raise ValueError('radix not supported')
    if number < 0:
        raise ValueError('number is negative')
    symbols = []
    while True:
        number, rest = divmod(number, radix)
        symbols.append('0123456789abcdefghijklmnopqrstuvwxyz'[rest])
        if number == 0:
            break
    symbols.reverse()
    return ''.join(symbols)


def triangular_number(n):
    """
    1 + 2 + ... + n, after Gauss.
    """
    return n * (n + 1) // 2
