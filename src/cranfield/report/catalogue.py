"""What there is to say of measures: the list by family, all about one, and which to use."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from cranfield.errors import MeasureError
from cranfield.measures import Measure, all_measures, parse_measure
from cranfield.measures.advice import ADVICE
from cranfield.measures.base import REGISTRY, unknown_measure
from cranfield.measures.own import own_measure, own_name
from cranfield.measures.trec_names import parse_trec_name

LINE = 80
RANKS = 10
DEPENDS = "depends on the ranking"  # the weight of a rank, where it is not the same for all rankings
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


def kind_of(name: str) -> type[Measure]:
    """The measure that a name stands for, whatever its parameters, whoever's name it is."""
    own = own_name(name)
    if own is not None:
        return own_measure(own[0], re.split(r"[(@]", own[1])[0])
    bare = re.split(r"[(@]", name)[0].strip()
    if bare in REGISTRY:
        return REGISTRY[bare]
    trec = parse_trec_name(name)
    if trec:
        return type(trec[0][1])
    raise unknown_measure(bare)


def families() -> dict[str, list[type[Measure]]]:
    """Measures by family: a family is a module, and its docstring says what it holds."""
    found: dict[str, list[type[Measure]]] = {}
    for kind in all_measures():
        about = sys.modules[kind.__module__].__doc__ or kind.__module__
        found.setdefault(re.split(r"[:.\n]", about)[0], []).append(kind)
    # counts are no measures of quality: they come last
    return dict(sorted(found.items(), key=lambda family: family[1][0].aggregate == "sum"))


def range_of(kind: type[Measure]) -> str:
    """The range of values in words."""
    return f"{_number(kind.low)} to {_number(kind.high)}"


def better(kind: type[Measure]) -> str:
    """Which values are better; a count or a share of judged documents is neither good nor bad."""
    if not kind.is_quality:
        return "–"
    return "more" if kind.more_is_better else "less"


def default_of(kind: type[Measure], name: str) -> str:
    """What a parameter is if it is not given, in words."""
    default = next(field.default for field in dataclasses.fields(kind) if field.name == name)
    if name in kind.required:
        return "must be given"
    if name == "rel" and not kind.plain().is_binary:
        return "none, grades count as they are"
    if default is None:
        return {"rel": "1", "cutoff": "the whole ranking", "docs": "--docs"}.get(name, "–")
    return f"{default:g}" if isinstance(default, float) else str(default)


def parameters_of(kind: type[Measure]) -> list[str]:
    """The parameters of a measure, the one that `@` sets first."""
    names = [field.name for field in dataclasses.fields(kind) if field.name in kind.parameters]
    return sorted(names, key=lambda name: name != kind.at)


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


def weights_of(kind: type[Measure], n: int = RANKS) -> list[float] | None:
    """The weight that the measure gives to each of the first ranks, where it gives one that does not depend on them."""
    weights = kind.plain().rank_weights(n)
    return None if weights is None else [float(weight) for weight in weights]


def record(kind: type[Measure]) -> dict[str, Any]:
    """All about a measure, ready for JSON."""
    return {
        "name": kind.name,
        "aliases": list(kind.aliases),
        "title": kind.title,
        "what": summary(kind),
        "about": kind.about,
        "user": kind.user,
        "ignores": kind.ignores,
        "formula": kind.formula,
        "parameters": {name: _parameter_record(kind, name) for name in parameters_of(kind)},
        "range": [_finite(kind.low), _finite(kind.high)],
        "better": better(kind),
        "nothing_found": kind.nothing_found,
        "aggregate": kind.aggregate,
        "tasks": list(kind.tasks),
        "weights": weights_of(kind),
        "needs": list(kind.needs),
        "lacks": dict(kind.lacks),
        "reference": kind.reference,
        "trec_eval": trec_names().get(kind, []),
        "ir_measures": ir_measures_names(kind),
    }


def summary(kind: type[Measure]) -> str:
    """What the measure is, in a sentence."""
    return (kind.__doc__ or "").strip().splitlines()[0] if kind.__doc__ else kind.title


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
    return _json([record(kind) for kind in all_measures()])


def as_text(kind: type[Measure]) -> str:
    """All about one measure."""
    parts = [
        f"{kind.name}: {kind.title}",
        _filled(summary(kind)),
        _filled(kind.about),
        f"    {kind.formula}",
        "\n".join(_entry(label, text, 16) for label, text in _facts(kind)),
        "Parameters\n" + "\n".join(_parameter(kind, name) for name in parameters_of(kind)),
    ]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def as_json(kind: type[Measure]) -> str:
    return _json(record(kind))


def advice_as_text(task: str) -> str:
    """Which measures to use for a task, and why."""
    advice = ADVICE[task]
    named = available(task)
    size = max(len(name) for name, _ in named)
    return "\n".join([_filled(advice.task), "", *(_entry(name, why, size) for name, why in named)]) + "\n"


def advice_as_json(task: str) -> str:
    named = [{"measure": name, "reason": why} for name, why in available(task)]
    return _json({"for": task, "task": ADVICE[task].task, "measures": named})


def available(task: str) -> list[tuple[str, str]]:
    """The measures recommended for a task."""
    return [(str(parse_measure(name)), why) for name, why in ADVICE[task].measures]


def _facts(kind: type[Measure]) -> Iterator[tuple[str, str]]:
    if kind.user:
        yield "User", kind.user
    yield "Weight of ranks", _weights(kind)
    if kind.ignores:
        yield "Ignores", kind.ignores
    if kind.aliases:
        yield "Also called", ", ".join(kind.aliases)
    if names := trec_names().get(kind):
        yield "In trec_eval", ", ".join(names)
    if names := ir_measures_names(kind):
        yield "In ir_measures", ", ".join(names)
    yield "Values", range_of(kind)
    yield "Better", better(kind)
    yield "Nothing found", kind.nothing_found
    yield "All queries", "the sum" if kind.aggregate == "sum" else "the mean"
    if kind.tasks:
        yield "Tasks", ", ".join(kind.tasks)
    if kind.needs:
        yield "Needs", ", ".join(f"--{need.replace('_', '-')}" for need in kind.needs)
    if kind.reference:
        yield "Reference", kind.reference


def _weights(kind: type[Measure]) -> str:
    """The weight of each of the first ranks, in a line."""
    weights = weights_of(kind)
    if weights is None:
        return DEPENDS
    return f"{' '.join(_weight(weight) for weight in weights)} … ({kind.plain()})"


def _parameter(kind: type[Measure], name: str) -> str:
    parameter = kind.parameters[name]
    what = f"{parameter.what}: {parameter.range()}. Default: {default_of(kind, name)}."
    return _entry(f"@ or {name}" if name == kind.at else name, what, 16)


def _parameter_record(kind: type[Measure], name: str) -> dict[str, Any]:
    parameter = kind.parameters[name]
    return {
        "what": parameter.what,
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


def _weight(weight: float) -> str:
    return f"{weight:.3f}".removeprefix("0")


def _number(value: float) -> str:
    return ("∞" if value > 0 else "−∞") if math.isinf(value) else f"{value:g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _json(value: Mapping[str, Any] | Sequence[Any] | Iterable[Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
