"""Words and signs of labels written as text, by language, and when two texts are the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from rankwise._words import either, remedy

_DASHES = "‐‑‒–—−﹣"
_SPACES = "\u00a0\u2007\u2009\u202f\u3000\ufeff"
_LONGEST = 200  # characters of a text whose language is sought
_INVISIBLE = "\u00ad\u200b\u200e\u200f\u2060"
_REPLACED: dict[str, str | None] = {
    **{chr(0xFF01 + k): chr(0x21 + k) for k in range(94)},  # full-width forms of ASCII
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_INVISIBLE, None),
    **{"≥": ">=", "≤": "<=", "⩾": ">=", "⩽": "<=", "’": "'", "٫": "."},
}
_SIGNS = str.maketrans(_REPLACED)

#: Texts for a missing label, unless a class has that name. "none" is not among them: it is often the lowest class.
_MISSING = frozenset(("", "?", "-", "nan", "-nan", "na", "n/a", "n.a.", "null", "#n/a", "#na", "#n/a n/a"))
_MISSING |= {"1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"}

#: What people write in words, by language; X and Y stand for numbers or classes.
_WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        ">=": ("at least X", "X or more", "X or higher", "X or above", "X and up", "X and above"),
        "<=": ("at most X", "up to X", "X or less", "X or fewer", "X or lower", "X or below", "X and below"),
        ">": ("more than X", "above X", "over X"),
        "<": ("less than X", "fewer than X", "below X", "under X"),
        "-": ("X to Y", "from X to Y", "between X and Y"),
        "|": ("or",),
        "of": ("X out of Y", "X of Y"),
        "unit": ("star", "stars", "point", "points", "★"),
        "?": (
            "unknown",
            "not known",
            "no answer",
            "no response",
            "not answered",
            "not applicable",
            "refused",
            "don't know",
            "dont know",
            "do not know",
            "prefer not to say",
            "prefer not to answer",
        ),
    },
    "de": {
        ">=": ("mindestens X", "ab X", "X oder mehr", "X oder höher", "X und mehr"),
        "<=": ("höchstens X", "bis zu X", "bis X", "X oder weniger", "X und weniger"),
        ">": ("mehr als X", "über X"),
        "<": ("weniger als X", "unter X"),
        "-": ("X bis Y", "von X bis Y", "zwischen X und Y"),
        "|": ("oder",),
        "of": ("X von Y",),
        "unit": ("Stern", "Sterne", "Punkt", "Punkte", "★"),
        "?": (
            "unbekannt",
            "keine Angabe",
            "k.A.",
            "k. A.",
            "weiß nicht",
            "weiss nicht",
            "keine Antwort",
            "nicht beantwortet",
        ),
    },
    "fr": {
        ">=": ("au moins X", "X ou plus", "à partir de X"),
        "<=": ("au plus X", "jusqu'à X", "X ou moins"),
        ">": ("plus de X",),
        "<": ("moins de X",),
        "-": ("X à Y", "de X à Y", "entre X et Y"),
        "|": ("ou",),
        "of": ("X sur Y",),
        "unit": ("étoile", "étoiles", "point", "points", "★"),
        "?": (
            "inconnu",
            "inconnue",
            "sans réponse",
            "pas de réponse",
            "ne sait pas",
            "je ne sais pas",
            "sans objet",
            "ne se prononce pas",
        ),
    },
    "es": {
        ">=": ("al menos X", "como mínimo X", "X o más"),
        "<=": ("como máximo X", "hasta X", "X o menos"),
        ">": ("más de X",),
        "<": ("menos de X",),
        "-": ("X a Y", "de X a Y", "entre X y Y"),
        "|": ("o", "u"),
        "of": ("X de Y",),
        "unit": ("estrella", "estrellas", "punto", "puntos", "★"),
        "?": (
            "desconocido",
            "desconocida",
            "sin respuesta",
            "no sabe",
            "no sé",
            "no lo sé",
            "no contesta",
            "no aplica",
            "ns/nc",
        ),
    },
}

LANGUAGES = tuple(_WORDS)
_NAMES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish"}
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def plain(text: str) -> str:
    """A text with ASCII signs and spaces, and with the digits 0 to 9 in place of those of other scripts."""
    if text.isascii():
        return text.strip()
    text = text.translate(_SIGNS)
    if not text.isascii():
        text = "".join(str(int(sign)) if sign.isdecimal() else sign for sign in text)
    return text.strip()


def folded(text: str) -> str:
    """A text without what people write differently in the same name: capitals, kinds of dashes, numbers of spaces.

    >>> folded("Very  GOOD – really")
    'very good - really'
    """
    return " ".join(plain(text).casefold().split())


@cache
def patterns(
    language: str,
) -> tuple[frozenset[str], list[tuple[str, re.Pattern[str]]], re.Pattern[str], re.Pattern[str]]:
    """Words for a missing label, phrases with their meaning, the word between candidates, and units."""
    words = _WORDS[language]
    signs = (">=", "<=", ">", "<", "of", "-")
    return (
        _MISSING | {folded(word) for word in words["?"]},
        [(sign, _phrase(phrase)) for sign in signs for phrase in words[sign]],
        re.compile(rf"(?<!\s)\s+(?:{'|'.join(words['|'])})\s+", re.IGNORECASE),
        re.compile(rf"(?<=\d)\s*(?:{'|'.join(words['unit'])})$", re.IGNORECASE),
    )


def language_of(
    text: str, is_end: Callable[[str], bool] = lambda end: _NUMBER.fullmatch(end) is not None
) -> str | None:
    """The language in which a text is a missing label or made of classes; ``is_end`` tells a class, or a number.

    >>> language_of("weiß nicht"), language_of("mindestens 4"), language_of("mindestens gut")
    ('de', 'de', None)
    """
    written = plain(text)
    for language in LANGUAGES if len(text) <= _LONGEST else ():
        missing, phrases, between, unit = patterns(language)
        if folded(text) in missing - _MISSING:
            return language
        matches = (match.groups() for _, phrase in phrases if (match := phrase.fullmatch(written)))
        pieces = between.split(written)
        for ends in (
            *matches,
            pieces if len(pieces) > 1 else (),
            [unit.sub("", written)] if unit.search(written) else (),
        ):
            if ends and all(is_end(unit.sub("", end.strip())) for end in ends):
                return language
    return None


def language_remedy(text: str, *is_end: Callable[[str], bool]) -> str:
    """What to do about a label that is a word of another language than declared; nothing if it is not."""
    language = language_of(text, *is_end)
    if language is None:
        return ""
    how = either(f'parse_labels(..., language="{language}")', f"--language {language}")
    return remedy(f" It is written in {_NAMES[language]}: declare the language, {how}.")


def _phrase(phrase: str) -> re.Pattern[str]:
    pattern = r"\s++".join(re.escape(word) for word in phrase.split())
    return re.compile(pattern.replace("X", r"(.*?\S)").replace("Y", "(.+)"), re.IGNORECASE | re.DOTALL)
