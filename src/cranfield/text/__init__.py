"""Text into terms: words, stop words, stems."""

from cranfield.text.analysis import STOP_WORDS, Analysis, stemmer_of, words

__all__ = ["Analysis", "STOP_WORDS", "stemmer_of", "words"]
