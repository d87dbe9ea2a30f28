"""Measures described: the list by family, all about one, and recommendations."""

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
from cranfield.tables import dump_json, finite_or_none

LINE = 80
RANKS = 10
NONE = "–"  # a parameter without a default
# names of trec_eval; those that we lack are skipped
TREC_NAMES = (
    "map gm_map Rprec bpref gm_bpref recip_rank iprec_at_recall_0.50 P_10 recall_10 relstring_10 utility ndcg "
    "ndcg_cut_10 ndcg_rel Rndcg map_cut_10 success_10 set_P set_recall set_F set_map set_relative_P 11pt_avg infAP "
    "binG G relative_P_10 Rprec_mult_1.00 yaap dcg ideal_dcg unj_10 rbp rbp_resid num_q num_ret num_rel num_rel_ret "
    "num_nonrel_judged_ret num_unj prefs_simp prefs_pair prefs_avgjg prefs_avgjg_Rnonrel prefs_simp_ret "
    "prefs_pair_ret prefs_avgjg_ret prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp prefs_avgjg_imp "
    "prefs_num_prefs_poss prefs_num_prefs_ful prefs_num_prefs_ful_ret runid"
).split()
# names of ir_measures
IR_MEASURES = (
    "Accuracy alpha_DCG alpha_nDCG AP AP_IA Bpref BPM Compat ERR ERR_IA infAP INSQ INST IPrec Judged nDCG NERR8 NERR9 "
    "NERR10 NERR11 nERR_IA nNRBP NRBP NumQ NumRel NumRelRet NumRet P P_IA R RBP Rprec RR SDCG SetAP SetF SetP SetR "
    "SetRelP StRecall Success"
).split()


def find_measure(name: str) -> Measure:
    """The measure with this name and parameters; names of other tools are understood."""
    own = parse_user_name(name)
    bare = re.split(r"[(@]", own[1] if own else name)[0].strip()
    if own is None and bare not in REGISTRY and not parse_trec_name(name):
        raise unknown_measure(bare)
    if own is not None and bare == own[1]:
        return make_default_measure(load_user_measure(own[0], bare))
    if own is None and bare == name.strip() and bare in REGISTRY:
        return make_default_measure(REGISTRY[bare])
    named = parse_measures([name])
    # a name of trec_eval may mean the same measure at several cutoffs
    return named[0][1] if len(named) == 1 else make_default_measure(type(named[0][1]))


def make_default_measure(kind: type[Measure]) -> Measure:
    """The measure with only its required parameters set."""
    return kind(**{name: kind.parameters[name].example_values()[0] for name in kind.required})


def choose_formula(measure: Measure) -> str:
    """The formula; for measures that are not averaged over queries, that of the whole run."""
    return measure.shown_formula if measure.aggregate in ("mean", "sum") else measure.formula


def group_by_family() -> dict[str, list[type[Measure]]]:
    """Measures by family: a family is a module, and its docstring names it."""
    found: dict[str, list[type[Measure]]] = {}
    for kind in all_measures():
        about = sys.modules[kind.__module__].__doc__ or kind.__module__
        found.setdefault(re.split(r"[:.\n]", about)[0], []).append(kind)
    # measures of quality first, then rank similarity, then counts
    return dict(
        sorted(found.items(), key=lambda family: (family[1][0].aggregate == "sum", not _has_quality(family[1])))
    )


def _has_quality(kinds: Iterable[type[Measure]]) -> bool:
    return any(kind.is_quality for kind in kinds)


def describe_range(measure: Measure) -> str:
    """The range of values."""
    return f"{_number(measure.low)} to {_number(measure.high)}"


def describe_direction(measure: Measure) -> str:
    """Which values are better; a dash for counts and judged shares, which are neither good nor bad."""
    if not measure.is_quality:
        return "–"
    return "more" if measure.more_is_better else "less"


def describe_default(kind: type[Measure], name: str) -> str:
    """The default of a parameter, in words."""
    default = next(field.default for field in fields(kind) if field.name == name)
    if name in kind.required:
        return "required"
    if name == "rel" and not kind.plain().is_binary:
        return "none; grades count as they are"
    if default is None:
        return {"rel": "1", "cutoff": "the whole ranking", "docs": "--docs"}.get(name, NONE)
    return f"{default:g}" if isinstance(default, float) else str(default)


def sort_parameters(kind: type[Measure]) -> list[str]:
    """The parameters of a measure: the one that `@` sets first, those of all measures last."""
    names = [field.name for field in fields(kind) if field.name in kind.parameters]
    shared = {field.name for field in fields(Measure)} - ({"gain"} if kind.has_own_gains else set())
    return sorted(names, key=lambda name: (name != kind.at, name in shared))


@cache
def collect_trec_names() -> dict[type[Measure], list[str]]:
    """The names of trec_eval for each measure."""
    names: dict[type[Measure], list[str]] = {}
    for name in TREC_NAMES:
        try:
            found = parse_trec_name(name) or []
        except MeasureError:
            continue
        for kind in dict.fromkeys(type(measure) for _, measure in found):
            names.setdefault(kind, []).append(name)
    return names


def find_ir_measures_names(kind: type[Measure]) -> list[str]:
    """The names of ir_measures for a measure."""
    return [name for name in IR_MEASURES if REGISTRY.get(name) is kind]


def compute_rank_weights(measure: Measure, n: int = RANKS) -> list[float] | None:
    """The weight of each of the first ranks, or None if it depends on the documents."""
    weights = measure.rank_weights(n)
    return None if weights is None else [float(weight) for weight in weights]


def describe_weights(measure: Measure) -> str:
    """The weight of each of the first ranks, as numbers if they are fixed, and how it is defined."""
    weights = compute_rank_weights(measure)
    if weights is None:
        return measure.shown_weighting or "not specified"
    how = f": {measure.shown_weighting}" if measure.shown_weighting else ""
    return f"{' '.join(_format_weights(weights))} … ({measure}){how}"


def _format_weights(weights: Sequence[float]) -> list[str]:
    """Weights with three decimals, or as many as are needed to see that they differ."""
    different = len({round(weight, 9) for weight in weights})
    texts: list[str] = []
    for places in range(3, 10):
        texts = [f"{weight:.{places}f}".removeprefix("0") for weight in weights]
        if len(set(texts)) == different:
            break
    return texts


def measure_to_dict(measure: Measure) -> dict[str, Any]:
    """All about a measure, for JSON."""
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
        "formula": choose_formula(measure),
        "parameters": {name: _parameter_record(kind, name) for name in sort_parameters(kind)},
        "range": [finite_or_none(measure.low), finite_or_none(measure.high)],
        "better": describe_direction(measure),
        "nothing_found": measure.nothing_found,
        "aggregate": kind.aggregate,
        "tasks": list(kind.tasks),
        "weights": compute_rank_weights(measure),
        "weighting": measure.shown_weighting,
        "needs": list(measure.needed),
        "lacks": dict(measure.lacks),
        "reference": kind.reference,
        "trec_eval": collect_trec_names().get(kind, []),
        "ir_measures": find_ir_measures_names(kind),
    }


def list_as_text() -> str:
    """All measures by family, one per line."""
    size = max(len(kind.name) for kind in all_measures())
    blocks = [
        "\n".join([family, *(_entry(kind.name, kind.title, size) for kind in kinds)])
        for family, kinds in group_by_family().items()
    ]
    hint = "Details: cranfield measures NAME. Advice: cranfield measures --for TASK."
    return "\n\n".join([*blocks, hint]) + "\n"


def list_as_json() -> str:
    return dump_json([measure_to_dict(make_default_measure(kind)) for kind in all_measures()])


def as_text(measure: Measure) -> str:
    """All about one measure."""
    kind = type(measure)
    parts = [
        f"{kind.name}: {kind.title}" if kind.title else kind.name,
        _fill(measure.shown_summary),
        _fill(kind.about),
        f"    {choose_formula(measure)}",
        "\n".join(_entry(label, text, 16) for label, text in _list_facts(measure)),
        "Parameters\n" + "\n".join(_parameter(kind, name) for name in sort_parameters(kind)),
    ]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def as_json(measure: Measure) -> str:
    return dump_json(measure_to_dict(measure))


def advice_as_text(task: str) -> str:
    """The measures recommended for a task, with reasons."""
    advice = ADVICE[task]
    named = recommend_measures(task)
    size = max(len(name) for name, _ in named)
    return "\n".join([_fill(advice.task), "", *(_entry(name, why, size) for name, why in named)]) + "\n"


def advice_as_json(task: str) -> str:
    named = [{"measure": name, "reason": why} for name, why in recommend_measures(task)]
    return dump_json({"for": task, "task": ADVICE[task].task, "measures": named})


def recommend_measures(task: str) -> list[tuple[str, str]]:
    """The measures recommended for a task."""
    return [(str(parse_measure(name)), why) for name, why in ADVICE[task].measures]


_OF_ALL = {
    "mean": "the mean",
    "sum": "the sum",
    "geometric": "the geometric mean",
    "run": "computed for the whole run, not averaged over queries",
}


def _list_facts(measure: Measure) -> Iterator[tuple[str, str]]:
    kind = type(measure)
    if kind.user:
        yield "User", kind.user
    yield "Rank weights", describe_weights(measure)
    if measure.ignores:
        yield "Ignores", _capitalize(measure.ignores.removeprefix("Ignores "))
    if kind.aliases:
        yield "Also called", ", ".join(kind.aliases)
    if names := collect_trec_names().get(kind):
        yield "In trec_eval", ", ".join(names)
    if names := find_ir_measures_names(kind):
        yield "In ir_measures", ", ".join(names)
    yield "Values", describe_range(measure)
    yield "Better", describe_direction(measure)
    yield "Nothing found", measure.nothing_found
    yield "All queries", describe_aggregate(kind)
    if kind.tasks:
        yield "Tasks", ", ".join(kind.tasks)
    if measure.needed:
        yield "Needs", ", ".join(f"--{need.replace('_', '-')}" for need in measure.needed)
    if kind.reference:
        yield "Reference", kind.reference


def describe_aggregate(kind: type[Measure]) -> str:
    """How the values of all queries become one."""
    return _OF_ALL[kind.aggregate]


def _parameter(kind: type[Measure], name: str) -> str:
    parameter = kind.parameters[name]
    default = describe_default(kind, name)
    what = f"{parameter.help}: {parameter.range()}." + ("" if default == NONE else f" Default: {default}.")
    return _entry(f"@ or {name}" if name == kind.at else name, what, 16)


def _parameter_record(kind: type[Measure], name: str) -> dict[str, Any]:
    parameter = kind.parameters[name]
    return {
        "what": parameter.help,
        "may_be": parameter.range(),
        "default": describe_default(kind, name),
        "is_required": name in kind.required,
    }


def _entry(label: str, text: str, size: int) -> str:
    """A label with a wrapped text beside it."""
    lines = textwrap.wrap(text, LINE - size - 4, break_long_words=False, break_on_hyphens=False) or [""]
    indent = "\n" + " " * (size + 4)
    return f"  {label:<{size}}  {indent.join(lines)}".rstrip()


def _fill(text: str) -> str:
    return textwrap.fill(text, LINE, break_long_words=False, break_on_hyphens=False)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _number(value: float) -> str:
    return ("∞" if value > 0 else "−∞") if math.isinf(value) else f"{value:.4g}"
