"""Numbers as people read them: with a real minus sign, no negative zero, and a dash for what is missing."""

from __future__ import annotations

import math

MISSING = "–"


def format_number(value: float | None, places: int = 3) -> str:
    """A number with a fixed number of decimals.

    >>> format_number(0.5), format_number(-1234.5, 1), format_number(-0.00001), format_number(None)
    ('0.500', '−1,234.5', '0.000', '–')
    """
    if value is None or math.isnan(value):
        return MISSING
    text = f"{value:,.{places}f}"
    return text.replace("-", "−" if any(digit in text for digit in "123456789") else "")


def format_signed(value: float | None, places: int = 3) -> str:
    """A difference, with its sign.

    >>> format_signed(0.02), format_signed(-0.02), format_signed(0.0)
    ('+0.020', '−0.020', '0.000')
    """
    text = format_number(value, places)
    return f"+{text}" if value is not None and value > 0 and any(digit in text for digit in "123456789") else text


def format_interval(low: float | None, high: float | None, places: int = 3, signed: bool = False) -> str:
    """Both ends of an interval.

    >>> format_interval(-0.25, 0.75, 2), format_interval(0.25, None)
    ('[−0.25, 0.75]', '–')
    """
    if low is None or high is None:
        return MISSING
    form = format_signed if signed else format_number
    return f"[{form(low, places)}, {form(high, places)}]"


def format_percent(share: float | None) -> str:
    """A share with one decimal; never 0 % or 100 % unless it is exactly that.

    >>> format_percent(0.123), format_percent(0.0), format_percent(0.0001), format_percent(0.99999)
    ('12.3 %', '0 %', '< 0.1 %', '> 99.9 %')
    """
    if share is None or math.isnan(share):
        return MISSING
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.0f} %" if share in (0, 1) else f"{100 * share:.1f} %"


def format_milliseconds(value: float) -> str:
    """A time with about three digits.

    >>> format_milliseconds(0.1234), format_milliseconds(12.34), format_milliseconds(1234.5)
    ('0.123', '12.3', '1,234')
    """
    places = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{places}f}"


def format_bytes(count: int) -> str:
    """A size in bytes.

    >>> format_bytes(950), format_bytes(123_456), format_bytes(2_340_000_000)
    ('950 bytes', '123 kB', '2.34 GB')
    """
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}" if count < 999.5 * scale else f"{count / scale:,.0f} {unit}"
    return f"{count:,} byte{'' if count == 1 else 's'}"


def format_ratio(one: float, other: float) -> str:
    """How many times as large one number is as another.

    >>> format_ratio(0.42, 0.2), format_ratio(30, 1), format_ratio(1, 0)
    ('2.1 times', '30 times', 'many times')
    """
    if not other:
        return "many times"
    ratio = one / other
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:,.0f} times"


def format_probability(value: float) -> str:
    """A number below 1, without its leading zero.

    >>> format_probability(0.05), format_probability(0.001)
    ('.05', '.001')
    """
    return f"{value:g}".removeprefix("0")


def format_p(p: float) -> str:
    """A p-value in a table.

    >>> format_p(0.0034), format_p(0.00002), format_p(0.412), format_p(1.0)
    ('.003', '< .001', '.41', '1')
    """
    if p < 0.001:
        return "< .001"
    if p >= 0.995:
        return "1"
    near = abs(p - 0.05) < 0.0005  # show on which side of the usual level it is
    return f"{p:.{4 if near else 3 if p < 0.0995 else 2}f}".removeprefix("0")


def state_p(p: float, relation: str = "=") -> str:
    """A p-value in a sentence.

    >>> state_p(0.0034), state_p(0.00002), state_p(0.412, "≥"), state_p(1.0)
    ('p = .003', 'p < .001', 'p ≥ .41', 'p = 1')
    """
    text = format_p(p)
    return f"p {text}" if text.startswith("<") else f"p {relation} {text}"


def finite_or_none(value: float | None) -> float | None:
    """The value, or None if JSON cannot represent it."""
    return value if value is not None and math.isfinite(value) else None
