"""Numbers as C reads them: as much of the text as is a number, 0 if nothing is."""

from __future__ import annotations

import re

_LONG = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_DOUBLE = re.compile(
    r"[ \t\n\v\f\r]*([+-]?(?:0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN]))"
)
MOST = 2**63 - 1


def atol(text: str) -> int:
    """
    >>> atol("12abc"), atol("1.9"), atol("x")
    (12, 1, 0)
    """
    match = _LONG.match(text)
    return max(-MOST - 1, min(MOST, int(match[1]))) if match else 0


def atof(text: str) -> float:
    """
    >>> atof("2.5x"), atof("1e3"), atof("-inf"), atof("0x10"), atof("x")
    (2.5, 1000.0, -inf, 16.0, 0.0)
    """
    match = _DOUBLE.match(text)
    if match is None:
        return 0.0
    if "x" in match[1].lower():
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return float("-inf" if match[1].startswith("-") else "inf")
    return float(match[1])
