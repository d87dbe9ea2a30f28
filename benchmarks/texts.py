"""Seeded documents and queries of made-up words, whose frequencies fall as those of a language do (Zipf)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"
ENDINGS = ("", "s", "ed", "ing", "er", "ly", "ness")  # for the stemmer to cut
MIDDLING = slice(100, 5000)  # words by frequency: in some 6,000 down to some 100 of 100,000 documents
COMMON = slice(20, 5000)


@dataclass(frozen=True)
class Texts:
    """Documents, queries of words of middling frequency, and queries whose words are as common as they are in text."""

    documents: list[str]
    queries: dict[str, list[str]]


def make_texts(documents: int = 100_000, queries: int = 1000, vocabulary: int = 50_000, seed: int = 1) -> Texts:
    """Documents of 60 to 100 words, and queries of 2 to 6."""
    rng = np.random.default_rng(seed)
    words = np.array(_words(vocabulary, rng), dtype=object)
    share = 1 / np.arange(1, vocabulary + 1)
    ends = np.cumsum(rng.integers(60, 101, documents))
    said = words[rng.choice(vocabulary, int(ends[-1]), p=share / share.sum())]
    return Texts(
        [" ".join(text) for text in np.split(said, ends[:-1])],
        {
            "middling": [" ".join(rng.choice(words[MIDDLING], rng.integers(2, 7))) for _ in range(queries)],
            "common": [_common(words, share, rng) for _ in range(queries)],
        },
    )


def _common(words: np.ndarray, share: np.ndarray, rng: np.random.Generator) -> str:
    return " ".join(rng.choice(words[COMMON], rng.integers(2, 7), p=share[COMMON] / share[COMMON].sum()))


def _words(n: int, rng: np.random.Generator) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        syllables = (rng.choice(list(CONSONANTS)) + rng.choice(list(VOWELS)) for _ in range(rng.integers(1, 4)))
        found["".join(syllables) + rng.choice(list(CONSONANTS)) + rng.choice(ENDINGS)] = None
    return list(found)
