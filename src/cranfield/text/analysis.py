"""Text into terms: words, stop words, stems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from cranfield.base import Record
from cranfield.errors import CranfieldError, MissingExtra

# two characters at least, as most engines have it; letters and digits of any script
_WORD = re.compile(r"(?u)\b\w\w+\b")

# the 33 words that Lucene leaves out of English text, and a longer list: articles, prepositions, pronouns, auxiliaries
_FEW = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
"""
_MANY = """
    about above after again against all am any because been before being below between both can could did do does doing
    down during each few from further had has have having he her here hers herself him himself his how i its itself just
    me more most my myself nor now off once only other our ours ourselves out over own same she should so some than
    theirs them themselves those through too under until up very we were what when where which while who whom why would
    you your yours yourself yourselves
"""
STOP_WORDS = {
    "english": frozenset(_FEW.split()),
    "english-long": frozenset((_FEW + _MANY).split()),
    "none": frozenset[str](),
}


class Analysis(Record):
    """How text becomes terms: words in lower case, less stop words, cut to their stems.

    >>> Analysis(stemmer="none").terms("The bicycles were ridden on wet roads.")
    ['bicycles', 'were', 'ridden', 'wet', 'roads']
    """

    stemmer: str = "english"  # of Snowball, or none
    stop_words: str = "english"  # or english-long, or none

    def __post_init__(self) -> None:
        if self.stop_words not in STOP_WORDS:
            raise CranfieldError(f"no stop words {self.stop_words!r}: expected one of {', '.join(STOP_WORDS)}.")
        stemmer_of(self.stemmer)

    def terms(self, text: str) -> list[str]:
        """The terms of a text in its order, as often as they occur."""
        return list(self.stems(words(text)))

    def stems(self, found: Iterable[str]) -> Iterable[str]:
        """The stems of words, less stop words."""
        stop, stem = STOP_WORDS[self.stop_words], stemmer_of(self.stemmer)
        return [stem(word) for word in found if word not in stop]


def words(text: str) -> list[str]:
    """The words of a text in lower case.

    >>> words("Paris–Brest, 1891!")
    ['paris', 'brest', '1891']
    """
    return _WORD.findall(text.lower())


@cache
def stemmer_of(language: str) -> Callable[[str], str]:
    """What cuts a word to its stem; each word is cut once, as there are far fewer words than occurrences."""
    if language == "none":
        return str
    try:
        import snowballstemmer
    except ImportError:
        raise MissingExtra(f"the {language} stemmer", "lab") from None
    if language not in snowballstemmer.algorithms():
        known = ", ".join(["none", *snowballstemmer.algorithms()])
        raise CranfieldError(f"no stemmer for {language!r}: expected one of {known}.")
    return cache(snowballstemmer.stemmer(language).stemWord)
