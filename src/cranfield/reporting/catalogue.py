"""What there is to say of measures: the list by family, all about one, and which to use."""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from cranfield.base import fields
from cranfield.errors import MeasureError
from cranfield.measures import (
    ADVICE,
    REGISTRY,
    Measure,
    all_measures,
    load_user_measure,
    parse_measure,
    parse_measures,
    parse_trec_name,
    parse_user_name,
    unknown_measure,
)
from cranfield.tables import dumped

LINE = 80
RANKS = 10
NONE = "–"  # the default of a parameter that is not given
# as trec_eval prints them; those we do not have are passed over
TREC_NAMES = (
    "map gm_map Rprec bpref gm_bpref recip_rank iprec_at_recall_0.50 P_10 recall_10 relstring_10 utility ndcg "
    "ndcg_cut_10 ndcg_rel Rndcg map_cut_10 success_10 set_P set_recall set_F set_map set_relative_P 11pt_avg infAP "
    "binG G relative_P_10 Rprec_mult_1.00 yaap dcg ideal_dcg unj_10 rbp rbp_resid num_q num_ret num_rel num_rel_ret "
    "num_nonrel_judged_ret num_unj prefs_simp prefs_pair prefs_avgjg prefs_avgjg_Rnonrel prefs_simp_ret "
    "prefs_pair_ret prefs_avgjg_ret prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp prefs_avgjg_imp "
    "prefs_num_prefs_poss prefs_num_prefs_ful prefs_num_prefs_ful_ret runid"
).split()
# the names that ir_measures has
IR_MEASURES = (
    "Accuracy alpha_DCG alpha_nDCG AP AP_IA Bpref BPM Compat ERR ERR_IA infAP INSQ INST IPrec Judged nDCG NERR8 NERR9 "
    "NERR10 NERR11 nERR_IA nNRBP NRBP NumQ NumRel NumRelRet NumRet P P_IA R RBP Rprec RR SDCG SetAP SetF SetP SetR "
    "SetRelP StRecall Success"
).split()


def measure_of(name: str) -> Measure:
    """The measure that a name stands for, with the parameters it gives, whoever's name it is."""
    own = parse_user_name(name)
    bare = re.split(r"[(@]", own[1] if own else name)[0].strip()
    if own is None and bare not in REGISTRY and not parse_trec_name(name):
        raise unknown_measure(bare)
    if own is not None and bare == own[1]:
        return usual(load_user_measure(own[0], bare))
    if own is None and bare == name.strip() and bare in REGISTRY:
        return usual(REGISTRY[bare])
    named = parse_measures([name])
    # a name of trec_eval may stand for the same measure at several cutoffs
    return named[0][1] if len(named) == 1 else usual(type(named[0][1]))


def usual(kind: type[Measure]) -> Measure:
    """The measure as it is if only what must be given is."""
    return kind(**{name: kind.parameters[name].example_values()[0] for name in kind.required})


def formula_of(measure: Measure) -> str:
    """The formula, that of the run where it is not the mean over queries."""
    return measure.shown_formula if measure.aggregate in ("mean", "sum") else measure.formula


def families() -> dict[str, list[type[Measure]]]:
    """Measures by family: a family is a module, and its docstring says what it holds."""
    found: dict[str, list[type[Measure]]] = {}
    for kind in all_measures():
        about = sys.modules[kind.__module__].__doc__ or kind.__module__
        found.setdefault(re.split(r"[:.\n]", about)[0], []).append(kind)
    # first what tells good runs from bad ones, then likeness between runs; counts come last
    return dict(
        sorted(found.items(), key=lambda family: (family[1][0].aggregate == "sum", not _has_quality(family[1])))
    )


def _has_quality(kinds: Iterable[type[Measure]]) -> bool:
    return any(kind.is_quality for kind in kinds)


def range_of(measure: Measure) -> str:
    """The range of values in words."""
    return f"{_number(measure.low)} to {_number(measure.high)}"


def describe_direction(measure: Measure) -> str:
    """Which values are better; a count or a share of judged documents is neither good nor bad."""
    if not measure.is_quality:
        return "–"
    return "more" if measure.more_is_better else "less"


def default_of(kind: type[Measure], name: str) -> str:
    """What a parameter is if it is not given, in words."""
    default = next(field.default for field in fields(kind) if field.name == name)
    if name in kind.required:
        return "must be given"
    if name == "rel" and not kind.plain().is_binary:
        return "none, grades count as they are"
    if default is None:
        return {"rel": "1", "cutoff": "the whole ranking", "docs": "--docs"}.get(name, NONE)
    return f"{default:g}" if isinstance(default, float) else str(default)


def parameters_of(kind: type[Measure]) -> list[str]:
    """The parameters of a measure, the one that `@` sets first, those that all measures have last."""
    names = [field.name for field in fields(kind) if field.name in kind.parameters]
    shared = {field.name for field in fields(Measure)} - ({"gain"} if kind.has_own_gains else set())
    return sorted(names, key=lambda name: (name != kind.at, name in shared))


@cache
def trec_names() -> dict[type[Measure], list[str]]:
    """trec_eval's names of each measure."""
    names: dict[type[Measure], list[str]] = {}
    for name in TREC_NAMES:
        try:
            found = parse_trec_name(name) or []
        except MeasureError:
            continue
        for kind in dict.fromkeys(type(measure) for _, measure in found):
            names.setdefault(kind, []).append(name)
    return names


def ir_measures_names(kind: type[Measure]) -> list[str]:
    """The names that ir_measures has for a measure."""
    return [name for name in IR_MEASURES if REGISTRY.get(name) is kind]


def weights_of(measure: Measure, n: int = RANKS) -> list[float] | None:
    """The weight that the measure gives to each of the first ranks, where it gives one that does not depend on them."""
    weights = measure.rank_weights(n)
    return None if weights is None else [float(weight) for weight in weights]


def weights_in_words(measure: Measure) -> str:
    """The weight of each of the first ranks, as numbers where there are any, and how they come about."""
    weights = weights_of(measure)
    if weights is None:
        return measure.shown_weighting or "not said"
    how = f": {measure.shown_weighting}" if measure.shown_weighting else ""
    return f"{' '.join(_told_apart(weights))} … ({measure}){how}"


def _told_apart(weights: Sequence[float]) -> list[str]:
    """Weights with three decimals, or as many as it takes to see that they are not the same."""
    different = len({round(weight, 9) for weight in weights})
    texts: list[str] = []
    for places in range(3, 10):
        texts = [f"{weight:.{places}f}".removeprefix("0") for weight in weights]
        if len(set(texts)) == different:
            break
    return texts


def record(measure: Measure) -> dict[str, Any]:
    """All about a measure, ready for JSON."""
    kind = type(measure)
    return {
        "name": kind.name,
        "measure": str(measure),
        "aliases": list(kind.aliases),
        "title": kind.title,
        "what": measure.shown_summary,
        "about": kind.about,
        "user": kind.user,
        "ignores": measure.ignores,
        "formula": formula_of(measure),
        "parameters": {name: _parameter_record(kind, name) for name in parameters_of(kind)},
        "range": [_finite(measure.low), _finite(measure.high)],
        "better": describe_direction(measure),
        "nothing_found": measure.nothing_found,
        "aggregate": kind.aggregate,
        "tasks": list(kind.tasks),
        "weights": weights_of(measure),
        "weighting": measure.shown_weighting,
        "needs": list(measure.needed),
        "lacks": dict(measure.lacks),
        "reference": kind.reference,
        "trec_eval": trec_names().get(kind, []),
        "ir_measures": ir_measures_names(kind),
    }


def list_as_text() -> str:
    """All measures by family, a line each."""
    size = max(len(kind.name) for kind in all_measures())
    blocks = [
        "\n".join([family, *(_entry(kind.name, kind.title, size) for kind in kinds)])
        for family, kinds in families().items()
    ]
    hint = "cranfield measures NAME says all about one; --for TASK which to use."
    return "\n\n".join([*blocks, hint]) + "\n"


def list_as_json() -> str:
    return dumped([record(usual(kind)) for kind in all_measures()])


def as_text(measure: Measure) -> str:
    """All about one measure."""
    kind = type(measure)
    parts = [
        f"{kind.name}: {kind.title}" if kind.title else kind.name,
        _filled(measure.shown_summary),
        _filled(kind.about),
        f"    {formula_of(measure)}",
        "\n".join(_entry(label, text, 16) for label, text in _facts(measure)),
        "Parameters\n" + "\n".join(_parameter(kind, name) for name in parameters_of(kind)),
    ]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def as_json(measure: Measure) -> str:
    return dumped(record(measure))


def advice_as_text(task: str) -> str:
    """Which measures to use for a task, and why."""
    advice = ADVICE[task]
    named = available(task)
    size = max(len(name) for name, _ in named)
    return "\n".join([_filled(advice.task), "", *(_entry(name, why, size) for name, why in named)]) + "\n"


def advice_as_json(task: str) -> str:
    named = [{"measure": name, "reason": why} for name, why in available(task)]
    return dumped({"for": task, "task": ADVICE[task].task, "measures": named})


def available(task: str) -> list[tuple[str, str]]:
    """The measures recommended for a task."""
    return [(str(parse_measure(name)), why) for name, why in ADVICE[task].measures]


_OF_ALL = {
    "mean": "the mean",
    "sum": "the sum",
    "geometric": "the geometric mean",
    "run": "a value of the run as a whole, not a mean over queries",
}


def _facts(measure: Measure) -> Iterator[tuple[str, str]]:
    kind = type(measure)
    if kind.user:
        yield "User", kind.user
    yield "Weight of ranks", weights_in_words(measure)
    if measure.ignores:
        yield "Ignores", _capital(measure.ignores.removeprefix("Ignores "))
    if kind.aliases:
        yield "Also called", ", ".join(kind.aliases)
    if names := trec_names().get(kind):
        yield "In trec_eval", ", ".join(names)
    if names := ir_measures_names(kind):
        yield "In ir_measures", ", ".join(names)
    yield "Values", range_of(measure)
    yield "Better", describe_direction(measure)
    yield "Nothing found", measure.nothing_found
    yield "All queries", aggregate_of(kind)
    if kind.tasks:
        yield "Tasks", ", ".join(kind.tasks)
    if measure.needed:
        yield "Needs", ", ".join(f"--{need.replace('_', '-')}" for need in measure.needed)
    if kind.reference:
        yield "Reference", kind.reference


def aggregate_of(kind: type[Measure]) -> str:
    """What one number is made of the values of all queries."""
    return _OF_ALL[kind.aggregate]


def _parameter(kind: type[Measure], name: str) -> str:
    parameter = kind.parameters[name]
    default = default_of(kind, name)
    what = f"{parameter.help}: {parameter.range()}." + ("" if default == NONE else f" Default: {default}.")
    return _entry(f"@ or {name}" if name == kind.at else name, what, 16)


def _parameter_record(kind: type[Measure], name: str) -> dict[str, Any]:
    parameter = kind.parameters[name]
    return {
        "what": parameter.help,
        "may_be": parameter.range(),
        "default": default_of(kind, name),
        "is_required": name in kind.required,
    }


def _entry(label: str, text: str, size: int) -> str:
    """A label and a text that is filled beside it."""
    lines = textwrap.wrap(text, LINE - size - 4, break_long_words=False, break_on_hyphens=False) or [""]
    indent = "\n" + " " * (size + 4)
    return f"  {label:<{size}}  {indent.join(lines)}".rstrip()


def _filled(text: str) -> str:
    return textwrap.fill(text, LINE, break_long_words=False, break_on_hyphens=False)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _number(value: float) -> str:
    return ("∞" if value > 0 else "−∞") if math.isinf(value) else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
