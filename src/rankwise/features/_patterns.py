r"""Patterns that divide texts into words in time proportional to the text.

Python searches by trial: ``(a+)+$`` takes time that doubles with every letter, and ``\w+\w+x`` its square. A pattern
that a model file may hold is one or several ways to write a word, each of a fixed number of characters and then as many
as there are of one kind. Only words with a border in front may ask for a border behind: otherwise every letter of a
long word would be tried as its first.
"""

import re
import warnings

_LONGEST = 200
_CHARACTER = r"(?:\\[wWdDsS]|\\[^\w\s]|\.|[^\\.^$*+?{}\[\]|()]|\[\^?(?:\\[wWdDsS]|\\[^\w\s]|[^\\\[\]])+\])"
_WORD = rf"(?:{_CHARACTER}\??)?(?:{_CHARACTER}(?:\{{\d\}})?){{0,8}}{_CHARACTER}(?:[+*]|\{{\d\d?(?:,\d{{0,3}})?\}})?"
_WAY = re.compile(rf"\\b{_WORD}(?:\\b)?|{_WORD}")
_WAYS = re.compile(r"(?:\(\?[aiu]{1,2}\))?(?:\((?:\?:)?(?P<grouped>.*)\)|(?P<bare>.*))", re.DOTALL)
_BETWEEN_WAYS = re.compile(r"\|(?![^\[\]]*\])")  # not those inside of brackets


def is_linear(pattern: str) -> bool:
    r"""Whether a pattern is known to take time in proportion to the text.

    Examples
    --------
    >>> is_linear(r"(?u)\b\w\w+\b"), is_linear(r"\w+|[^\w\s]"), is_linear("(a+)+$"), is_linear(r"\w+\b")
    (True, True, False, False)
    """
    parts = _WAYS.fullmatch(pattern) if len(pattern) <= _LONGEST else None
    if parts is None:
        return False
    ways = _BETWEEN_WAYS.split(parts["grouped"] if parts["grouped"] is not None else parts["bare"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of brackets that may mean something else one day
            re.compile(pattern)
    except (re.error, OverflowError):
        return False
    return len(ways) <= 8 and all(map(_WAY.fullmatch, ways))
