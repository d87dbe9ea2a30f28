"""Text into terms."""

from __future__ import annotations

import pytest

from cranfield.errors import CranfieldError
from cranfield.text.analysis import STOP_WORDS, Analysis, words


def test_words_are_letters_and_digits_of_any_script_in_lower_case() -> None:
    assert words("Vélo, ПОЕЗД 2nd-hand; x 日本語") == ["vélo", "поезд", "2nd", "hand", "日本語"]


def test_stop_words_go_and_stems_stay() -> None:
    assert Analysis().terms("The riders were riding on bicycles") == ["rider", "were", "ride", "bicycl"]
    assert Analysis(stop_words="english-long").terms("The riders were riding") == ["rider", "ride"]
    assert Analysis(stemmer="none", stop_words="none").terms("The riders") == ["the", "riders"]
    assert Analysis(stemmer="german").terms("Fahrräder fahren") == ["fahrrad", "fahr"]


def test_the_longer_list_holds_the_shorter_one() -> None:
    assert STOP_WORDS["english"] < STOP_WORDS["english-long"] and len(STOP_WORDS["english"]) == 33


@pytest.mark.parametrize("given", [{"stemmer": "klingon"}, {"stop_words": "some"}])
def test_unknown_names_are_told_with_those_there_are(given: dict[str, str]) -> None:
    with pytest.raises(CranfieldError, match=r"expected one of .*none"):
        Analysis(**given)
