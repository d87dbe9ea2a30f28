"""Formulas: LaTeX as MathML, where latex2mathml is installed."""

from __future__ import annotations

import html
from xml.etree import ElementTree


def render_formula(latex: str, is_block: bool = True) -> str:
    """A formula as MathML, or as LaTeX in `<code>` where the converter is missing."""
    try:
        return convert_latex(latex, is_block)
    except ImportError:
        return f"<code>{html.escape(latex)}</code>"


def convert_latex(latex: str, is_block: bool) -> str:
    """A formula as MathML; `R` in a line gives `<math display="inline"><mrow><mi>R</mi></mrow></math>`."""
    from latex2mathml.converter import convert

    math = ElementTree.fromstring(convert(latex.strip(), display="block" if is_block else "inline"))
    for element in list(math.iter()):
        element.tag = element.tag.rpartition("}")[2]
        _join_letters(element)
        _set_below(element, is_block)
        if element.tag == "mi" and element.text == ":":
            element.tag = "mo"
    return ElementTree.tostring(math, encoding="unicode")


def _join_letters(row: ElementTree.Element) -> None:
    """Upright letters side by side are a word: one element, without the gaps between variables."""
    last = None
    for child in list(row):
        if child.get("mathvariant") != "normal":
            last = None
        elif last is None:
            last = child
        else:
            last.text = (last.text or "") + (child.text or "")
            row.remove(child)


def _set_below(element: ElementTree.Element, is_block: bool) -> None:
    """What max and min range over belongs below them in a formula of its own."""
    if is_block and element.tag == "msub" and element[0].text in ("max", "min"):
        element.tag = "munder"
