# -*- coding: utf-8 -*-
"""
character by character string routines
"""


def reverse_text(text):
    """
    Reverse the order of the characters.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        the same characters, last one first
    """
    backwards = ''
    for character in text:
        backwards = character + backwards
    return backwards


def count_vowels(sentence):
    """
    How many vowels are in the sentence? Vowels are a, e, i, o, u and their capitals.
    """
    number = 0
    for vowel in 'aeiouAEIOU':
        number = number + sentence.count(vowel)
    return number


def capitalize_words(sentence):
    """
    Start each word with a capital letter; other letters and all spaces stay.

    Parameters
    ----------
    sentence : str
        words with spaces between them
    """
    result = ''
    at_start = True
    for character in sentence:
        if at_start:
            result += character.upper()
        else:
            result += character
        at_start = character == ' '
    return result


def check_anagram(word, other):
    """
    True if one word can be made from the letters of the other.

    Spaces are ignored and capitals count as small letters.
    """
    letters = {}
    for character in word.replace(' ', '').lower():
        letters[character] = letters.get(character, 0) + 1
    for character in other.replace(' ', '').lower():
        letters[character] = letters.get(character, 0) - 1
    for count in letters.values():
        if count != 0:
            return False
    return True


def encode_runs(text):
    """
    Run-length encoding: a list of tuples, each with a character and how often it
    repeats in a row.
    """
    pairs = []
    i = 0
    while i < len(text):
        j = i
        while j < len(text) and text[j] == text[i]:
            j += 1
        pairs.append((text[i], j - i))
        i = j
    return pairs


def truncate_text(text, limit, *, ellipsis='...'):
    """
    Cut a text that is longer than `limit` and mark the cut with the ellipsis.

    The result, ellipsis included, has at most `limit` characters.

    Raises
    ------
    ValueError
        if there is no room for the ellipsis
    """
    room = limit - len(ellipsis)
    if room < 0:
        raise ValueError('limit too small')
    if len(text) > limit:
        text = text[0:room] + ellipsis
    return text


def camel_to_snake(identifier):
    """
    snake_case version of a camelCase identifier.

    Each capital letter after the first character is preceded by an underscore;
    then everything is made lower case.
    """
    snake = ''
    for position in range(len(identifier)):
        letter = identifier[position]
        if position != 0 and letter.isupper():
            snake += '_' + letter.lower()
        else:
            snake += letter.lower()
    return snake


def count_character(text, wanted):
    """
    Occurrences of a single character in a text.
    """
    return len([character for character in text if character == wanted])
