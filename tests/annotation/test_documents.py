"""Which words of a document are marked for a topic."""

from __future__ import annotations

import pytest

from cranfield.annotation.documents import Highlighter
from cranfield.data.collection import Topic


def marked(title: str, text: str) -> list[str]:
    return [text[first:last] for first, last in Highlighter(Topic("1", title)).spans(text)]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("自行车轮胎修理", "我的自行车坏了，修理轮胎。", ["自行车", "修理", "轮胎"]),  # Chinese, whatever is beside it
        ("自転車のパンク修理", "古い自転車のパンクを直す。", ["自転車", "パンク"]),  # the particle の is not marked
        ("猫", "三毛猫と猫", ["猫", "猫"]),
        ("ซ่อมยาง", "ฉันซ่อมยางรถจักรยาน", ["ซ่อมยาง"]),
        ("C言語 books", "C言語のbook、C入門", ["C", "言語", "book", "C"]),
        ("タイヤ", "タイム", []),  # not two letters out of three
        ("𠮷野家", "𠮷野家の牛丼", ["𠮷野家"]),  # outside the basic plane
    ],
)
def test_words_of_scripts_without_spaces_are_marked_wherever_they_stand(
    title: str, text: str, expected: list[str]
) -> None:
    assert marked(title, text) == expected
    assert Highlighter(Topic("1", title)).words([text]) == sorted({word.lower() for word in expected})


def test_a_title_of_stop_words_alone_has_them_marked() -> None:
    assert marked("the who", "The Who is a band, and who is it?") == ["The", "Who", "who"]
    assert marked("to be or not to be", "Not here.") == ["Not"]
    assert marked("the tyre", "the tyre") == ["tyre"]
    assert marked("the 猫", "the 猫") == ["猫"]
