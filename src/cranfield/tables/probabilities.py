"""Probabilities as papers print them: p-values and levels of significance."""

from __future__ import annotations


def format_probability(value: float) -> str:
    """A number below 1, without its leading zero.

    >>> format_probability(0.05), format_probability(0.001)
    ('.05', '.001')
    """
    return f"{value:g}".removeprefix("0")


def format_p(p: float) -> str:
    """A p-value as it is printed in a table.

    >>> format_p(0.0034), format_p(0.00002), format_p(0.412), format_p(1.0)
    ('.003', '< .001', '.41', '1')
    """
    if p < 0.001:
        return "< .001"
    if p >= 0.995:
        return "1"
    near = abs(p - 0.05) < 0.0005  # the reader must see on which side of the usual level p is
    return f"{p:.{4 if near else 3 if p < 0.0995 else 2}f}".removeprefix("0")


def state_p(p: float, relation: str = "=") -> str:
    """A p-value as it is printed in a sentence.

    >>> state_p(0.0034), state_p(0.00002), state_p(0.412, "≥"), state_p(1.0)
    ('p = .003', 'p < .001', 'p ≥ .41', 'p = 1')
    """
    text = format_p(p)
    return f"p {text}" if text.startswith("<") else f"p {relation} {text}"
