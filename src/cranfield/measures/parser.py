"""Reading the names of measures: ir_measures' notation (`AP(rel=2)@100`), trec_eval's (`map_cut_100`), and both for
measures in a user's own file (`my_measures.py:Mine@10`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from cranfield.base import fields
from cranfield.errors import MeasureError
from cranfield.measures.base import REGISTRY, Measure, unknown_measure
from cranfield.measures.trec_names import Named, parse_trec_name
from cranfield.measures.user_measures import load_user_measure, parse_user_name


def parse_measures(names: Iterable[Any]) -> list[Named]:
    """Measures with the names they were given; each may be a name or a Measure.

    >>> parse_measures(["nDCG@10", "P.5,10"])
    [('nDCG@10', nDCG@10), ('P_5', P@5), ('P_10', P@10)]
    """
    named: dict[str, Measure] = {}
    for name in [names] if isinstance(names, (str, Measure)) else names:
        pairs = [(str(name), name)] if isinstance(name, Measure) else _named(str(name).strip())
        for label, measure in pairs:
            if named.setdefault(label, measure) != measure:
                raise MeasureError(f"two measures are called {label}.")
    if not named:
        raise MeasureError("no measure was named.")
    return list(named.items())


def parse_measure(text: str) -> Measure:
    """The one measure that a name denotes.

    >>> parse_measure("AP(rel=2)@100")
    AP(rel=2)@100
    """
    named = _named(text.strip())
    if len(named) > 1:
        raise MeasureError(f"{text!r} denotes {len(named)} measures, expected one.")
    return named[0][1]


def _named(text: str) -> list[Named]:
    own = parse_user_name(text)
    if own is not None:
        return [(own[1], _parsed(own[1], file=own[0]))]
    trec = None if _is_ours(text) else parse_trec_name(text)
    return trec if trec is not None else [(text, _parsed(text))]


def _is_ours(text: str) -> bool:
    """Whether a name is in ir_measures' notation although trec_eval's might fit: P_IA@5 is no P at cutoff 'IA@5'."""
    match = re.fullmatch(r"(\w+)([(@].*)?", text, re.DOTALL)
    return match is not None and match[1] in REGISTRY and ("_" in match[1] or match[2] is not None)


def _parsed(text: str, file: str | None = None) -> Measure:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise MeasureError(f"{text!r} is not a measure: expected Name(parameter=value,…)@cutoff.") from None
    with_at = tree if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult) else None
    body = with_at.left if with_at else tree
    call = body if isinstance(body, ast.Call) else None
    head = call.func if call else body
    if not isinstance(head, ast.Name) or (call and call.args):
        raise MeasureError(f"{text!r} is not a measure: expected Name(parameter=value,…)@cutoff.")
    kind = _kind(head.id) if file is None else load_user_measure(file, head.id)
    return _made(kind, call.keywords if call else [], with_at.right if with_at else None, text)


def _kind(name: str) -> type[Measure]:
    if name not in REGISTRY:
        raise unknown_measure(name)
    return REGISTRY[name]


def _made(kind: type[Measure], keywords: list[ast.keyword], at: ast.expr | None, text: str) -> Measure:
    given: dict[str, Any] = {}
    for keyword in keywords:
        name, value = _known_parameter(kind, keyword.arg or "**", _literal(keyword.value, text))
        if name in given:
            raise MeasureError(f"{text!r} gives {name} twice.")
        given[name] = value
    if at is not None:
        if kind.at not in kind.parameters:
            raise MeasureError(f"{kind.name} takes no cutoff, found {text!r}.")
        if kind.at in given:
            raise MeasureError(f"{text!r} gives {kind.at} twice.")
        given[kind.at] = _literal(at, text)
    return kind(**given)


def _known_parameter(kind: type[Measure], name: str, value: Any) -> tuple[str, Any]:
    """A parameter by our name, also if another tool's was used."""
    if name in kind.synonyms:
        table = kind.synonyms[name]
        if None in table:
            return table[None][0], value
        if not isinstance(value, str) or value not in table:
            raise MeasureError(f"{name}={value!r} is unknown: expected one of {', '.join(map(str, table))}.")
        return table[value]
    accepted = {field.name for field in fields(kind)} & set(kind.parameters)
    if name not in accepted:
        known = ", ".join(kind.parameters) or "none"
        raise MeasureError(f"{kind.name} has no parameter {name!r}: it has {known}.")
    return name, value


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise MeasureError(f"{text!r}: a parameter must be a number, a text in quotes or a map.") from None
