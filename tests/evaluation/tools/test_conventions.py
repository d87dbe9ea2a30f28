"""Every tool's column equals the tool itself, query by query; and the convention that is blamed is the one at work."""

from __future__ import annotations

import csv
import gzip
import json
import math
import random
import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cranfield import CranfieldError, EvaluationError, MeasureError, Qrels, Run, evaluate, read_qrels, read_run
from cranfield.base import fields, replace
from cranfield.errors import DuplicateError
from cranfield.evaluation.tools.comparison import ToolEvaluator, compare_tools
from cranfield.evaluation.tools.conventions import TOOLS
from cranfield.evaluation.tools.tool import Setting
from cranfield.evaluation.tools.trec_eval import trec_eval
from cranfield.io import as_qrels, as_run
from cranfield.measures import REGISTRY, parse_measure, parse_measures
from cranfield.measures.trec_names import FAMILIES

SEEDS = range(12)
Nested = dict[str, dict[str, float]]


def random_case(
    seed: int, grades: tuple[int, ...] = (-1, 0, 0, 1, 2, 3), missing: bool = True
) -> tuple[Nested, Nested]:
    """Short lists with ties, ties in float32 only, negative grades, unjudged and missed documents, missing queries."""
    rng = random.Random(seed)
    qrels: Nested = {}
    run: Nested = {}
    for q in range(8):
        docs = [f"d{i}" for i in range(12)]
        rng.shuffle(docs)
        judged = rng.sample(docs, rng.randint(1, 12))
        # trec_eval stops at a query that has negative grades only
        qrels[str(q)] = {doc: rng.choice(grades) if i else max(0, rng.choice(grades)) for i, doc in enumerate(judged)}
        draw: Callable[[], float] = rng.choice(
            [rng.random, lambda: float(rng.randrange(4)), lambda: 16777216.0 + rng.randrange(4)]
        )
        if q % 4 != 3 or not missing:
            run[str(q)] = {doc: draw() for doc in rng.sample(docs, rng.randint(1, 12))}
    return qrels, run


def ours(tool: str, qrels: Any, run: Any, names: list[str], **options: Any) -> dict[tuple[str, str], float]:
    scores = ToolEvaluator(tool, qrels, names, **options).evaluate(run)
    return {(name, query): value for name in names for query, value in scores.per_query(name).items()}


# trec_eval 9, as pytrec_eval has it

TREC_NAMES = [
    "map",
    "map_cut_3",
    "P_5",
    "recall_5",
    "success_2",
    "recip_rank",
    "Rprec",
    "bpref",
    "ndcg",
    "ndcg_cut_5",
    "iprec_at_recall_0.10",
    "iprec_at_recall_0.30",
    "iprec_at_recall_0.80",
    "11pt_avg",
    "set_P",
    "set_recall",
    "set_F",
    "num_ret",
    "num_rel",
    "num_rel_ret",
]


@pytest.mark.parametrize("seed", SEEDS)
def test_trec_eval_9_equals_pytrec_eval(seed: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = random_case(seed)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_NAMES)).evaluate(run)
    found = ours("trec_eval-9", qrels, run, TREC_NAMES)
    assert {query for _, query in found} == set(theirs)
    for (name, query), value in found.items():
        assert value == pytest.approx(theirs[query][name], abs=1e-9), (name, query)


def test_recall_points_are_rounded_as_each_version_does() -> None:
    # the example of the field notes: 7 documents, 4 relevant, 11pt_avg .3636 (9) and .4091 (10)
    qrels = {"q": {"a": 2, "b": 0, "c": 1, "d": 1, "e": 0, "f": -1, "g": 3}}
    run = {"q": {"b": 9.0, "c": 8.0, "x": 7.0, "f": 6.0, "a": 5.0, "d": 5.0, "e": 4.0}}
    for tool, mean, at in (("trec_eval-9", 0.3636, 0.0), ("trec_eval-10", 0.4091, 0.5)):
        scores = ToolEvaluator(tool, qrels, ["11pt_avg", "iprec_at_recall_0.80"]).evaluate(run)
        assert scores.mean("11pt_avg") == pytest.approx(mean, abs=5e-5)
        assert scores.mean("iprec_at_recall_0.80") == at


def test_trec_eval_10_has_doubles_where_9_has_floats() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 16777217.0, "b": 16777216.0}}
    assert ToolEvaluator("trec_eval-9", qrels, ["RR"]).evaluate(run).mean("RR") == 0.5
    assert ToolEvaluator("trec_eval-10", qrels, ["RR"]).evaluate(run).mean("RR") == 1


def test_trec_eval_10_stops_at_a_missing_query_and_9_skips_it() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}}
    assert ToolEvaluator("trec_eval-9", qrels, ["AP"]).evaluate(run).mean("AP") == 1
    with pytest.raises(EvaluationError, match="lacks 1 of 2"):
        ToolEvaluator("trec_eval-10", qrels, ["AP"]).evaluate(run)
    assert ToolEvaluator("trec_eval-10", qrels, ["AP"], missing="zero").evaluate(run).mean("AP") == 0.5


# trec_eval, as the drop-in has it: every measure, on data with missing queries, ties and negative grades


def drop_in(version: str, qrels: Path, run: Path, names: list[str], *flags: str) -> dict[tuple[str, str], float]:
    """What `cranfield trec_eval` prints, which is what trec_eval prints."""
    asked = [part for name in names for part in ("-m", name)]
    outcome = trec_eval(["--as", version, "-q", *flags, *asked, str(qrels), str(run)])
    assert outcome.code == 0, outcome.err
    lines = (line.split("\t") for line in outcome.out.splitlines())
    return {(name.strip(), query): float(value) for name, query, value in lines}


def assert_as_printed(scores: Any, printed: dict[tuple[str, str], float], labels: dict[str, str]) -> None:
    """Every value that trec_eval prints, with its four decimals, is the one found; `labels` are ours by its."""
    assert {name for name, query in printed if query == "all"} == set(labels)
    for (name, query), value in printed.items():
        found = scores.mean(labels[name]) if query == "all" else scores.per_query(labels[name])[query]
        assert found == pytest.approx(value, abs=5.1e-5), (name, query)


def written(folder: Path, qrels: Nested, run: Nested) -> tuple[Path, Path]:
    files = folder / "qrels", folder / "run"
    judged = (f"{query} 0 {doc} {grade}\n" for query, docs in qrels.items() for doc, grade in docs.items())
    ranked = (f"{query} Q0 {doc} 1 {score!r} x\n" for query, docs in run.items() for doc, score in docs.items())
    files[0].write_text("".join(judged))
    files[1].write_text("".join(ranked))
    return files


OF_QRELS = [name for name, family in FAMILIES.items() if family.make and family.judgments in ("any", "qrels")]
WITH_PARAMETERS = ["P.1,3", "iprec_at_recall.0.25,0.5", "utility.2,-1,-0.5,0", "set_F.2", "11pt_avg.0,0.5,1"]
WITH_PARAMETERS += ["ndcg.1=3,2=9", "G.1=3,2=9", "ndcg_rel.1=3,2=9", "Rndcg.1=3,2=9", "Rprec_mult.0.5,3"]
ONLY_IN_10 = ["rbp_resid.p=0.5", "rbp.p=0.5,1=3", "unj.3"]
FOR_VERSION = {
    (version, parameters): [name for name in names if FAMILIES[name.partition(".")[0]].since <= int(version)]
    for version in ("9", "10")
    for parameters, names in ((False, OF_QRELS), (True, WITH_PARAMETERS + (ONLY_IN_10 if version == "10" else [])))
}


@pytest.mark.parametrize("parameters", [False, True], ids=["plain", "parameters"])
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("version", ["9", "10"])
def test_every_measure_of_trec_eval_is_what_the_drop_in_prints(
    tmp_path: Path, version: str, level: int, parameters: bool
) -> None:
    names = FOR_VERSION[version, parameters]
    for seed in range(3):
        files = written(tmp_path, *random_case(seed))
        for complete in (True, False) if version == "9" else (True,):
            flags = [f"-l{level}", *(["-c"] if complete else [])]
            printed = drop_in(version, *files, names, *flags)
            evaluator = ToolEvaluator(
                f"trec_eval-{version}", str(files[0]), names, rel=level, missing="zero" if complete else "skip"
            )
            scores = evaluator.evaluate(str(files[1]))
            assert_as_printed(scores, printed, {label: label for label in scores.labels})


@pytest.mark.parametrize("version", ["9", "10"])
def test_judged_only_is_what_the_drop_in_prints_with_J(tmp_path: Path, version: str) -> None:
    names = [name for name in FOR_VERSION[version, False] if not name.startswith("num_")]
    for seed in range(3):
        qrels, run = random_case(seed)
        files = written(tmp_path, qrels, run)
        printed = drop_in(version, *files, names, "-c", "-J")
        condensed = {label: replace(m, judged_only=True) for label, m in parse_measures(names)}
        evaluator = ToolEvaluator(f"trec_eval-{version}", qrels, list(condensed.values()), missing="zero")
        scores = evaluator.evaluate(run)
        assert_as_printed(scores, printed, {label: str(measure) for label, measure in condensed.items()})


@pytest.mark.parametrize("version", ["9", "10"])
@pytest.mark.parametrize("kind", ["prefs", "qrels_jg"])
def test_preferences_and_groups_are_what_the_drop_in_prints(tmp_path: Path, version: str, kind: str) -> None:
    names = [name for name, family in FAMILIES.items() if family.judgments == kind]
    for seed in range(4):
        rng, (qrels, run) = random.Random(seed), random_case(seed)
        files = written(tmp_path, qrels, run)
        rows = [
            (q, g, doc) for q, docs in qrels.items() for g in "uv" for doc in docs if g == "u" or rng.random() < 0.7
        ]
        between = "s " if kind == "prefs" else ""
        lines = [f"{q} {group} {between}{doc} {rng.choice((0, 0, 1, 2))}\n" for q, group, doc in rows]
        files[0].write_text("".join(lines))
        printed = drop_in(version, *files, names, "-c", "-R", kind)
        judged = read_qrels(str(files[0]), "prefs" if kind == "prefs" else "diversity")
        scores = ToolEvaluator(f"trec_eval-{version}", judged, names, missing="zero").evaluate(run)
        assert_as_printed(scores, printed, {label: label for label in scores.labels})


def test_a_missing_query_has_a_list_of_one_unknown_document_in_trec_eval_10() -> None:
    """The examples of the field notes: yaap, and what has parameters, shows the stand-in."""
    qrels, run = {"1": {"a": 1}, "2": {"a": 1, "b": 1, "c": 1}}, {"1": {"a": 1.0}}
    names = ["yaap", "utility", "utility.2,-1,0,0", "rbp_resid", "rbp_resid.p=0.5", "num_ret", "ideal_dcg"]
    ten = ToolEvaluator("trec_eval-10", qrels, names, missing="zero").evaluate(run)
    found = {label: ten.per_query(label)["2"] for label in ten.labels}
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    expected = {"yaap": -math.log(4), "utility_2,-1,0,0": -1.0, "rbp_resid_p=0.5": 1.0, "ideal_dcg": ideal}
    assert found == pytest.approx(expected | {"utility": 0, "rbp_resid": 0, "num_ret": 0})
    assert any("one unknown document" in note for note in ten.notes)
    nine = ToolEvaluator("trec_eval-9", qrels, ["yaap"], missing="zero").evaluate(run)
    assert nine.per_query("yaap")["2"] == 0


def test_the_sum_of_relevant_documents_is_recounted_where_missing_queries_count() -> None:
    qrels, run = {"1": {"a": 2, "b": 1}, "2": {"a": 1, "b": -1}}, {"1": {"a": 1.0}}
    for missing, total in (("zero", 3), ("skip", 1)):
        scores = ToolEvaluator("trec_eval-9", qrels, ["num_rel"], rel=2, missing=missing).evaluate(run)
        assert scores.mean("num_rel") == total and scores.per_query("num_rel")["1"] == 1


# ir_measures

IR_NAMES = [
    "nDCG",
    "nDCG@5",
    "nDCG(judged_only=True)@5",
    "AP",
    "AP@3",
    "AP(rel=2)@5",
    "AP(judged_only=True)",
    "RR",
    "RR(rel=2)",
    "RR@3",
    "P@5",
    "P(judged_only=True)@3",
    "R@5",
    "Rprec",
    "Bpref",
    "Success@2",
    "SetP",
    "SetR",
    "SetF",
    "SetF(beta=2.0)",
    "SetF(beta=0.5)",
    "IPrec@0.1",
    "IPrec@0.33",
    "IPrec@0.8",
    "Judged",
    "Judged@3",
    "NumRet",
    "NumRel",
]
IR_LATER = ["SetAP", "infAP", "Compat", "Compat(p=0.8)", "Compat(p=0.8,normalize=False)"]


@pytest.mark.parametrize("seed", SEEDS)
def test_ir_measures_equals_ir_measures(seed: int) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = random_case(seed)
    names = IR_NAMES + [name for name in IR_LATER if name.partition("(")[0] in TOOLS["ir_measures"].has()]
    measures = {ir_measures.parse_measure(name): name for name in names}
    found = ours("ir_measures", qrels, run, names)
    # apart from the others: a judged_only measure in the same call makes ir_measures count too few documents
    condensed = [measure for measure, name in measures.items() if "judged_only" in name]
    calls = (condensed, [measure for measure in measures if measure not in condensed])
    metrics = [metric for call in calls for metric in ir_measures.iter_calc(call, qrels, run)]
    theirs = {(measures[m.measure], m.query_id): m.value for m in metrics}
    for key, value in theirs.items():
        assert found.get(key) == pytest.approx(value, abs=1e-6), key


@pytest.mark.parametrize("seed", SEEDS)
def test_accuracy_of_ir_measures(seed: int) -> None:
    """It leaves out queries without a relevant document retrieved, and divides by zero where all are relevant."""
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = random_case(seed)
    run = {query: {**docs, "unjudged": -1.0} for query, docs in run.items()}
    found = ours("ir_measures", qrels, run, ["Accuracy"])
    theirs = {("Accuracy", m.query_id): m.value for m in ir_measures.iter_calc([ir_measures.Accuracy], qrels, run)}
    assert found == pytest.approx(theirs, abs=1e-9)
    with pytest.raises(EvaluationError, match="divides by zero"):
        ours("ir_measures", {"q": {"a": 1}}, {"q": {"a": 1.0}}, ["Accuracy"])


def test_ties_differ_between_measures_in_one_call_of_ir_measures() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = {"q": {"b": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    found = ours("ir_measures", qrels, run, ["RR", "RR@2"])
    assert found == {("RR", "q"): 1.0, ("RR@2", "q"): 0.5}
    theirs = ir_measures.calc_aggregate([ir_measures.RR, ir_measures.RR @ 2], qrels, run)
    assert theirs == {ir_measures.RR: 1.0, ir_measures.RR @ 2: 0.5}


def ir_values(names: list[str], qrels: Any, run: Any) -> dict[tuple[str, str], float]:
    """What ir_measures says, by our spelling of its measures."""
    ir_measures = pytest.importorskip("ir_measures")
    measures = {ir_measures.parse_measure(name): name for name in names}
    return {(measures[m.measure], m.query_id): m.value for m in ir_measures.iter_calc(list(measures), qrels, run)}


def test_the_last_row_of_a_document_counts_in_ir_measures_and_ranx(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    qrels, file = {"q": {"a": 1}}, tmp_path / "run"
    file.write_text("q Q0 b 1 3 x\nq Q0 a 2 2 x\nq Q0 b 3 1 x\n")
    names = ["RR", "RR@3", "nDCG", "P@2", "Judged@3", "Compat"]
    found = ours("ir_measures", qrels, str(file), names)
    assert found == pytest.approx(ir_values(names, qrels, list(ir_measures.read_trec_run(str(file)))))
    assert found["RR", "q"] == 1 and ours("ranx", qrels, str(file), ["RR"]) == {("RR", "q"): 1.0}
    assert ours("ranx", qrels, str(file), ["RR"], on_duplicate="first") == {("RR", "q"): 0.5}
    with pytest.raises(DuplicateError):
        ours("ir_measures", qrels, str(file), ["RR"], on_duplicate="error")
    with pytest.raises(DuplicateError):
        ours("trec_eval-9", qrels, str(file), ["RR"])


SUBTOPIC_ROWS = "1 1 a 2\n1 2 a 0\n1 1 b 1\n1 2 c 0\n1 1 c 2\n1 1 d 1\n1 1 e 3\n1 2 e 1\n"
SUBTOPIC_RUN = {"1": {"a": 5.0, "x": 4.5, "c": 4.0, "e": 3.5, "b": 3.0}}
WITHOUT_SUBTOPICS = [
    "P@1",
    "AP",
    "nDCG@2",
    "nDCG",
    "NumRel",
    "Bpref",
    "SetF",
    "infAP",
    "Judged@3",
    "Compat",
    "Accuracy",
]
BY_OTHERS = ["RR@2", "RBP(rel=1)", "NERR8(max_rel=3)@3", "SDCG(max_rel=3)@3"]
BY_PERL = ["nDCG(dcg='exp-log2')@3", "ERR@3"]
WITH_SUBTOPICS = ["P_IA@2", "StRecall@2", "alpha_nDCG@3", "ERR_IA@3"]


@pytest.mark.parametrize("name", [*WITHOUT_SUBTOPICS, *BY_OTHERS, *BY_PERL, *WITH_SUBTOPICS])
def test_one_row_of_a_document_with_subtopics_counts_in_ir_measures(tmp_path: Path, name: str) -> None:
    """Mostly the last; any for RR@k, and the lowest positive one for gdeval, which has all of them in the ideal."""
    ir_measures = pytest.importorskip("ir_measures")
    if name in BY_PERL and shutil.which("perl") is None:
        pytest.skip("perl is not installed")
    if name in BY_OTHERS:
        pytest.importorskip("cwl")
    if name in WITH_SUBTOPICS:
        pytest.importorskip("pyndeval")
    file = tmp_path / "qrels"
    file.write_text(SUBTOPIC_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ir_values([name], list(ir_measures.read_trec_qrels(str(file))), SUBTOPIC_RUN)
    assert ours("ir_measures", str(file), SUBTOPIC_RUN, [name]) == pytest.approx(theirs, abs=6e-6)


def test_the_last_row_of_a_document_with_subtopics_counts_in_ranx_and_beir(tmp_path: Path, ranx: Any) -> None:
    file, names = tmp_path / "qrels", ["AP@3", "nDCG@3"]
    file.write_text(SUBTOPIC_ROWS)
    last = {"1": {"a": 0, "b": 1, "c": 2, "d": 1, "e": 1}}
    for tool in ("ranx", "beir"):
        assert ours(tool, str(file), SUBTOPIC_RUN, names) == ours(tool, last, SUBTOPIC_RUN, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ranx.evaluate(
            ranx.Qrels.from_file(str(file), kind="trec"), ranx.Run(SUBTOPIC_RUN), ["map@3", "ndcg@3"]
        )
    assert list(ours("ranx", str(file), SUBTOPIC_RUN, names).values()) == pytest.approx(list(theirs.values()))


@pytest.mark.parametrize("version", ["9", "10"])
def test_trec_eval_stops_at_a_document_judged_for_two_subtopics(tmp_path: Path, version: str) -> None:
    qrels, run = written(tmp_path, {}, {"1": {"a": 1.0}})
    qrels.write_text("1 1 a 2\n1 2 a 0\n1 1 b 1\n2 1 c 1\n2 2 c 1\n")
    for names in (["P@1"], ["AP", "P@1"]):
        with pytest.raises(EvaluationError, match="document 'a' of query '1'"):
            ours(f"trec_eval-{version}", str(qrels), str(run), names, missing="skip")
    done = trec_eval(["--as", version, "-m", "P.1", str(qrels), str(run)])
    assert done.code == 4 and "duplicate docs a" in done.err
    # of a query that the run lacks only version 10 notices, which gives it a list of its own
    run.write_text("2 Q0 x 1 1 r\n")
    qrels.write_text("1 1 a 2\n1 2 a 0\n2 1 c 1\n")
    done = trec_eval(["--as", version, "-c", "-m", "P.1", str(qrels), str(run)])
    if version == "9":
        assert ours("trec_eval-9", str(qrels), str(run), ["P@1"], missing="zero")["P@1", "2"] == done.code == 0
    else:
        with pytest.raises(EvaluationError, match="judged twice"):
            ours("trec_eval-10", str(qrels), str(run), ["P@1"], missing="zero")
        assert done.code == 4 and "duplicate docs a" in done.err


def test_subtopics_are_kept_for_measures_that_look_at_them(tmp_path: Path) -> None:
    file = tmp_path / "qrels"
    file.write_text(SUBTOPIC_ROWS)
    for tool, name in (("ndeval", "P_IA@2"), ("trec_eval-9", "GroupP@2"), ("trec_eval-9", "Prefs")):
        plain = evaluate(str(file), SUBTOPIC_RUN, [name]).per_query(name)
        found = ours(tool, str(file), SUBTOPIC_RUN, [name], rank_by="score")
        assert found == {(name, query): value for query, value in plain.items()}


def test_which_row_of_a_document_with_subtopics_counts_may_be_told(tmp_path: Path) -> None:
    file = tmp_path / "qrels"
    file.write_text(SUBTOPIC_ROWS)
    rules = {"first": (2, 1, 0, 1, 3), "last": (0, 1, 2, 1, 1), "max": (2, 1, 2, 1, 3)}
    for tool in ("trec_eval-9", "ir_measures", "ranx", "spark", "beir"):
        for rule, grades in rules.items():
            one = {"1": dict(zip("abcde", grades, strict=True))}
            expected = ours(tool, one, SUBTOPIC_RUN, ["nDCG(gain='linear')@3"])
            assert ours(tool, str(file), SUBTOPIC_RUN, ["nDCG(gain='linear')@3"], on_duplicate=rule) == expected
        with pytest.raises(EvaluationError, match="judged twice"):
            ours(tool, str(file), SUBTOPIC_RUN, ["P@2"], on_duplicate="error")


def test_that_the_last_row_counts_is_named_where_it_is_why(tmp_path: Path) -> None:
    file = tmp_path / "qrels"
    file.write_text(SUBTOPIC_ROWS)
    tools = ["trec_eval-9", "ir_measures", "gdeval"]
    found = {value.tool: value for value in compare_tools("nDCG@2", str(file), SUBTOPIC_RUN, tools=tools).tools}
    assert [reason.what for reason in found["ir_measures"].reasons] == ["duplicates"]
    for name in ("trec_eval-9", "gdeval"):
        assert [reason.what for reason in found[name].reasons] == ["duplicates"]
        assert found[name].value is None and "document 'a' of query '1'" in str(found[name].stops)
    settled = compare_tools("nDCG@2", str(file), SUBTOPIC_RUN, tools=tools[:2], on_duplicate="max")
    assert [value.value for value in settled.tools] == [settled.value] * 2


def test_the_note_on_several_subtopics_says_what_the_tool_does(tmp_path: Path) -> None:
    file = tmp_path / "qrels"
    file.write_text(SUBTOPIC_ROWS)

    def notes(tool: str, names: list[str]) -> str:
        return " ".join(ToolEvaluator(tool, str(file), names).evaluate(SUBTOPIC_RUN).notes)

    assert "highest grade" in notes("spark", ["P@2"]) and "highest grade" not in notes("ir_measures", ["P@2"])
    assert "the last row counts" in notes("ir_measures", ["P@2"])


def test_the_cwl_provider_of_ir_measures_counts_a_repeated_document_twice() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl")
    run = [ir_measures.ScoredDoc("q", doc, score) for doc, score in (("b", 3.0), ("a", 2.0), ("b", 1.0))]
    # of three documents a is the second, as if b were still above it
    assert ir_values(["RBP(rel=1)"], {"q": {"a": 1}}, run)["RBP(rel=1)", "q"] == pytest.approx(0.16)
    assert ours("ir_measures", {"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, ["RBP(rel=1)"]) == {
        ("RBP(rel=1)", "q"): pytest.approx(0.2)
    }


def test_exponential_gain_without_a_cutoff_comes_from_ranx_in_ir_measures(ranx: Any) -> None:
    name = "nDCG(dcg='exp-log2')"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(3):
            rng = random.Random(seed)
            qrels = {q: {f"d{i}": rng.choice((-1, 0, 1, 2, 3)) for i in range(9)} for q in "12"}
            run = {q: {f"d{i}": rng.random() for i in rng.sample(range(14), 9)} for q in "12"}
            assert ours("ir_measures", qrels, run, [name]) == pytest.approx(ir_values([name], qrels, run))
        with pytest.raises(AssertionError):
            ir_values([name], {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}})
    with pytest.raises(EvaluationError, match="lacks 1 of 2"):
        ours("ir_measures", {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}}, [name])


def test_counts_of_a_query_that_the_run_lacks_are_0_in_ir_measures() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"a": 1, "b": 1}}, {"1": {"a": 1.0}}
    found = ours("ir_measures", qrels, run, ["NumRel", "NumQ"])
    assert found == ir_values(["NumRel", "NumQ"], qrels, run)
    assert found == {("NumRel", "1"): 1, ("NumRel", "2"): 0, ("NumQ", "1"): 1, ("NumQ", "2"): 0}


def test_the_gdeval_provider_of_ir_measures_loses_topics_with_a_hyphen() -> None:
    """It takes what is behind the last hyphen for the topic, so that the real one gets the default, 0."""
    if shutil.which("perl") is None:
        pytest.skip("perl is not installed")
    qrels, run = {"q-12": {"a": 1}}, {"q-12": {"a": 1.0}}
    theirs = ir_values(["ERR@5", "nDCG(dcg='exp-log2')@5"], qrels, run)
    assert theirs["ERR@5", "q-12"] == theirs["nDCG(dcg='exp-log2')@5", "q-12"] == 0
    assert theirs["ERR@5", "12"] == ours("ir_measures", qrels, run, ["ERR@5"])["ERR@5", "q-12"] == 0.0625


@pytest.mark.parametrize(("topic", "grade"), [("x", 1), ("1", 5)])
def test_the_gdeval_provider_of_ir_measures_fails_on_topics_without_a_number_and_on_grades_above_4(
    topic: str, grade: int
) -> None:
    if shutil.which("perl") is None:
        pytest.skip("perl is not installed")
    with pytest.raises(subprocess.CalledProcessError):
        ir_values(["ERR@5"], {topic: {"a": grade}}, {topic: {"a": 1.0}})
    expected = min((2**grade - 1) / 16, 15 / 16)
    assert ours("ir_measures", {topic: {"a": grade}}, {topic: {"a": 1.0}}, ["ERR@5"]) == {
        ("ERR@5", topic): pytest.approx(expected)
    }


def test_the_cwl_and_pyndeval_providers_of_ir_measures_need_the_rows_of_a_topic_together() -> None:
    """Each stretch of rows is taken for a list of its own; the other providers gather them."""
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl"), pytest.importorskip("pyndeval")
    rows = [("1", "x", 3.0), ("2", "a", 3.0), ("1", "a", 2.0)]
    apart = [ir_measures.ScoredDoc(*row) for row in rows]
    together = sorted(apart, key=lambda row: row.query_id)
    run = Run.from_rows(*map(list, zip(*rows, strict=True)))
    judged = [("1", "a", "1"), ("2", "a", "1"), ("2", "b", "2")]
    qrels = Qrels.from_rows([q for q, _, _ in judged], [d for _, d, _ in judged], [1] * 3, subtopics=list("112"))
    theirs = [ir_measures.Qrel(query, doc, 1, subtopic) for query, doc, subtopic in judged]
    for name in ("RBP(rel=1)", "alpha_nDCG@5"):
        found = ours("ir_measures", qrels, run, [name])
        assert found == pytest.approx(ir_values([name], theirs, together))
        assert found != pytest.approx(ir_values([name], theirs, apart))
    assert ir_values(["RR"], theirs, apart) == ours("ir_measures", qrels, run, ["RR"])


def test_ir_measures_has_no_number_for_nNRBP_where_nothing_is_relevant() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("pyndeval")
    rows = [("1", "a", 0, "1"), ("2", "b", 1, "2"), ("2", "c", 1, "1")]
    theirs = [ir_measures.Qrel(*row) for row in rows]
    queries, docs, grades, subtopics = map(list, zip(*rows, strict=True))
    run = {"1": {"a": 1.0}, "2": {"b": 1.0}}
    assert math.isnan(ir_values(["nNRBP"], theirs, run)["nNRBP", "1"])
    assert ours("ir_measures", Qrels.from_rows(queries, docs, grades, subtopics=subtopics), run, ["nNRBP"]) == {
        ("nNRBP", "1"): 0.0,
        ("nNRBP", "2"): pytest.approx(ir_values(["nNRBP"], theirs, run)["nNRBP", "2"]),
    }


def test_ir_measures_counts_too_few_documents_beside_a_judged_only_measure() -> None:
    """NumRet goes along with whatever measure comes first in the call."""
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = {"1": {"a": 1}}, {"1": {"x": 3.0, "a": 2.0}}
    both = [ir_measures.parse_measure("AP(judged_only=True)"), ir_measures.NumRet]
    provider = ir_measures.providers.registry["pytrec_eval"]
    assert {m.value for m in provider.iter_calc(both, qrels, run) if m.measure == ir_measures.NumRet} == {1}
    assert ours("ir_measures", qrels, run, ["AP(judged_only=True)", "NumRet"])["NumRet", "1"] == 2


def test_a_flag_gives_RBP_of_ir_measures_its_level() -> None:
    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    found = ToolEvaluator("ir_measures", qrels, ["RBP"], rel=2).evaluate(run).mean("RBP")
    assert found == pytest.approx(ir_values(["RBP(rel=2)"], qrels, run)["RBP(rel=2)", "q"])
    with pytest.raises(MeasureError, match="but not as RBP"):
        ToolEvaluator("ir_measures", qrels, ["RBP"])


# gdeval, in the copy that ir_measures ships

GDEVAL_NAMES = {
    "nDCG@5": "nDCG(dcg='exp-log2')@5",
    "nDCG@20": "nDCG(dcg='exp-log2')@20",
    "ERR@3": "ERR@3",
    "ERR@20": "ERR@20",
}


@pytest.mark.parametrize("seed", range(4))
def test_gdeval_equals_gdeval(seed: int) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    if shutil.which("perl") is None:
        pytest.skip("perl is not installed")
    qrels, run = random_case(seed, grades=(-2, 0, 0, 1, 2, 4))
    names = {name: theirs for name, theirs in GDEVAL_NAMES.items() if name.partition("@")[0] in REGISTRY}
    measures = {ir_measures.parse_measure(theirs): name for name, theirs in names.items()}
    provider = ir_measures.providers.registry["gdeval"]
    # iter_calc fills gaps with zeros; what the tool itself prints is this
    printed = provider.evaluator(
        list(measures), ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter()
    )._iter_calc(run)
    theirs = {(measures[m.measure], m.query_id): m.value for m in printed if m.query_id != "amean"}
    found = ours("gdeval", qrels, run, list(names))
    assert set(found) == set(theirs)
    for key, value in found.items():
        assert value == pytest.approx(theirs[key], abs=6e-6), key


def test_gdeval_by_hand() -> None:
    # field notes: order c b a, DCG = 1/log2 3 + 3/log2 4, ideal 3 + 1/log2 3
    qrels = {"1": {"a": 2, "b": 1, "c": -2, "d": 0}, "2": {"a": 0}}
    run = {"1": {"c": 3.0, "a": 2.0, "b": 2.0}, "2": {"a": 1.0}}
    assert ours("gdeval", qrels, run, ["nDCG"]) == {("nDCG", "1"): pytest.approx(0.58688, abs=5e-6)}
    if "ERR" in REGISTRY:
        assert ours("gdeval", qrels, run, ["ERR"]) == {("ERR", "1"): pytest.approx(0.08984, abs=5e-6)}
    with pytest.raises(EvaluationError, match="above 4"):
        ours("gdeval", {"1": {"a": 5}}, {"1": {"a": 1.0}}, ["nDCG@5"])


# ranx

RANX_NAMES = {
    "P@5": "precision@5",
    "R@5": "recall@5",
    "Success@2": "hit_rate@2",
    "RR": "mrr",
    "RR@3": "mrr@3",
    "AP": "map",
    "AP@3": "map@3",
    "Rprec": "r-precision",
    "SetP": "precision",
    "SetR": "recall",
    "SetF": "f1",
    "NumRelRet": "hits",
    "DCG": "dcg",
    "DCG@3": "dcg@3",
    "DCG(gain='exp')@5": "dcg_burges@5",
    "nDCG": "ndcg",
    "nDCG@5": "ndcg@5",
    "nDCG(gain='exp')@5": "ndcg_burges@5",
    "RBP(p=0.8)": "rbp.8",
}


@pytest.mark.parametrize("level", [1, 2])
def test_ranx_equals_ranx(level: int, ranx: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {
            name: theirs for name, theirs in RANX_NAMES.items() if name.partition("(")[0].partition("@")[0] in REGISTRY
        }
        suffix = "" if level == 1 else f"-l{level}"
        for seed in range(4):
            qrels, run = random_case(seed)
            whole = {query: {doc: int(grade) for doc, grade in docs.items()} for query, docs in qrels.items()}
            theirs_run = ranx.Run(run)
            metrics = [metric + suffix for metric in names.values()]
            ranx.evaluate(ranx.Qrels(whole), theirs_run, metrics, make_comparable=True, return_mean=False)
            found = ours("ranx", qrels, run, list(names), missing="zero", rel=level)
            for (name, query), value in found.items():
                assert value == pytest.approx(theirs_run.scores[names[name] + suffix][query], abs=1e-9), (
                    seed,
                    name,
                    query,
                )


def test_the_relevance_level_concerns_gains_in_ranx_only() -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    scores = ToolEvaluator("ranx", qrels, ["nDCG"], rel=2).evaluate(run)
    assert scores.mean("nDCG") == pytest.approx(1 / math.log2(3))
    assert not [note for note in scores.notes if "does not concern" in note]
    assert [note for note in evaluate(qrels, run, ["nDCG"], rel=2).notes if "does not concern" in note]


def test_bpref_of_ranx(ranx: Any) -> None:
    """Negative grades are judgments, and where N is 0 a relevant document found is 1 − 0/0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        qrels = {"1": {"a": 1, "b": 1, "c": -1, "d": 0}, "2": {"a": 1, "b": 1, "c": -1}, "3": {"a": 1, "b": 0, "c": 0}}
        qrels |= {"4": {"a": 1}, "5": {"a": 0}}
        run = {
            "1": {"c": 4.0, "a": 3.0, "d": 2.0, "b": 1.0},
            "2": {"c": 4.0, "a": 3.0},
            "3": {"b": 2.0, "x": 1.5, "a": 1.0},
            "4": {"x": 1.0},
            "5": {"a": 1.0},
        }
        theirs_run = ranx.Run(run)
        ranx.evaluate(ranx.Qrels(qrels), theirs_run, ["bpref"], return_mean=False)
        found = ours("ranx", qrels, run, ["Bpref"])
        assert {query: value for (_, query), value in found.items()} == pytest.approx(dict(theirs_run.scores["bpref"]))
    assert ours("ranx", {"1": {"a": 1}, "2": {"a": 1, "b": 0}}, {"1": {"a": 1.0}, "2": {"a": 1.0}}, ["Bpref"]) == {
        ("Bpref", "2"): 1.0
    }


def test_ranx_gives_bpref_0_to_all_queries_behind_one_with_nothing_relevant(ranx: Any) -> None:
    """A division by zero ends its parallel loop without a word; the value of a query is to depend on no other."""
    good, run = {"a": 1, "b": 0}, {"a": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone, behind = ranx.Run({"2": run}), ranx.Run({"1": run, "2": run})
        ranx.evaluate(ranx.Qrels({"2": good}), alone, ["bpref"], return_mean=False)
        ranx.evaluate(ranx.Qrels({"1": {"a": 0}, "2": good}), behind, ["bpref"], return_mean=False)
    assert alone.scores["bpref"]["2"] == 1 and behind.scores["bpref"]["2"] == 0
    found = ours("ranx", {"1": {"a": 0}, "2": good}, {"1": run, "2": run}, ["Bpref"])
    assert found == {("Bpref", "1"): 0.0, ("Bpref", "2"): 1.0}


def test_rbp_of_ranx_with_a_level_and_grades_that_it_cuts(ranx: Any) -> None:
    qrels, run = {"q1": {"a": 2, "b": 1, "c": 3}}, {"q1": {"b": 3.0, "a": 2.0, "x": 1.0}}
    scores = ToolEvaluator("ranx", qrels, ["RBP(p=0.5)", "RBP(p=0.5,rel=3)"], rel=2).evaluate(run)
    assert scores.summary()["run"] == {"RBP(p=0.5)": 0.5, "RBP(p=0.5,rel=3)": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "rbp.50-l2") == 0.5
        cut = ranx.evaluate(ranx.Qrels(FRACTIONS), ranx.Run(FRACTIONS_RUN), "ndcg")
    assert cut == pytest.approx(ours("ranx", FRACTIONS, FRACTIONS_RUN, ["nDCG"])["nDCG", "q1"])


def test_ranx_and_the_measures_of_beir_itself_refuse_queries_without_judgments(ranx: Any) -> None:
    qrels, run = {"1": {"a": 1}, "2": {"b": 1}}, {"1": {"a": 1.0}, "2": {"x": 1.0}, "3": {"y": 2.0, "z": 1.0}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(AssertionError):
            ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "mrr")
    for tool, names in (("ranx", ["RR"]), ("beir", ["RR@3", "R_cap@3", "Accuracy@3"])):
        for name in names:
            with pytest.raises(EvaluationError, match="refuses queries without judgments, and this run has 1 query"):
                ours(tool, qrels, run, [name])
    # make_comparable=True leaves them out, and pytrec_eval does not see them
    assert ours("ranx", qrels, run, ["RR"], missing="zero") == {("RR", "1"): 1.0, ("RR", "2"): 0.0}
    assert ours("beir", qrels, run, ["P@1"]) == {("P@1", "1"): 1.0, ("P@1", "2"): 0.0}
    value = compare_tools("RR", qrels, run, tools=["ranx"]).tools[0]
    assert value.stops == "stops: the run has 1 query without judgments; without these the value is 0.5000"
    assert value.value is None and value.per_query == {"1": 1.0, "2": 0.0}


def test_hole_of_beir_counts_lists_of_queries_without_judgments() -> None:
    # (0 + 1/2 + 1) / 2 queries; y is judged, but for another query
    qrels, run = {"1": {"a": 1}, "2": {"y": 1}}, {"1": {"y": 1.0}, "2": {"y": 2.0, "x": 1.0}, "3": {"u": 2.0, "z": 1.0}}
    scores = ToolEvaluator("beir", qrels, ["Unjudged@2", "nDCG@2"]).evaluate(run)
    assert scores.mean("Unjudged@2") == 0.75 and scores.interval("Unjudged@2") is None
    assert scores.per_query("Unjudged@2") == {"1": 0.0, "2": 0.5}
    assert scores.select(["2"]).mean("Unjudged@2") == 0.5
    value = compare_tools("Unjudged@2", qrels, run, tools=["beir"]).tools[0]
    assert value.value == 0.75 and [reason.what for reason in value.reasons] == ["denominator"]


# grades that are not whole numbers

FRACTIONS: Nested = {"q1": {"a": 1.9, "b": 0.5, "c": 2}}
FRACTIONS_RUN: Nested = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}}


@pytest.mark.parametrize("version", ["9", "10"])
def test_trec_eval_cuts_fractions_off_grades(tmp_path: Path, version: str) -> None:
    files = written(tmp_path, FRACTIONS, FRACTIONS_RUN)
    names = ["ndcg", "map", "Rndcg", "G", "bpref"]
    printed = drop_in(version, *files, names)
    assert printed["ndcg", "q1"] == 0.6199
    scores = ToolEvaluator(f"trec_eval-{version}", FRACTIONS, names).evaluate(FRACTIONS_RUN)
    assert_as_printed(scores, printed, {name: name for name in names})


def test_each_tool_does_its_own_with_fractions() -> None:
    comparison = compare_tools("nDCG@10", FRACTIONS, FRACTIONS_RUN)
    assert comparison.value == pytest.approx(0.7825, abs=5e-5)
    tools = {value.tool: value for value in comparison.tools}
    for name in ("trec_eval-9", "trec_eval-10", "ranx"):
        assert tools[name].value == pytest.approx(0.6199, abs=5e-5)
    for name in ("ir_measures", "gdeval", "beir"):
        assert "refuses grades that are not whole numbers, and these qrels have 1.9" in str(tools[name].stops)
    for name in ("trec_eval-9", "trec_eval-10", "ranx", "ir_measures", "gdeval", "beir"):
        assert [reason.what for reason in tools[name].reasons] == ["grades"]
    for name in ("sklearn", "torchmetrics"):
        assert tools[name].value == pytest.approx(comparison.value)


def test_whole_numbers_only_are_read_by_the_tools_that_refuse_others() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    with pytest.raises(ValueError):
        list(ir_measures.read_trec_qrels("q1 0 a 1.9\n"))
    with pytest.raises(TypeError):
        pytest.importorskip("pytrec_eval").RelevanceEvaluator(FRACTIONS, {"ndcg"}).evaluate(FRACTIONS_RUN)
    provider = ir_measures.providers.registry["gdeval"]
    if shutil.which("perl") is not None:
        with pytest.raises(subprocess.CalledProcessError):
            list(provider.iter_calc([ir_measures.ERR @ 5], {"1": {"a": 1.9}}, {"1": {"a": 1.0}}))


def test_preferences_of_trec_eval_keep_fractions() -> None:
    rows = ["a", "b", "c"]
    qrels = Qrels.from_rows(["1"] * 3, rows, [0.9, 0.5, 0.1], subtopics=["u"] * 3, extra={"subgroup": ["s"] * 3})
    scores = ToolEvaluator("trec_eval-9", qrels, ["prefs_simp"]).evaluate({"1": {"a": 3.0, "b": 2.0, "c": 1.0}})
    assert scores.mean("prefs_simp") == 1


# scikit-learn


@pytest.mark.parametrize("seed", SEEDS)
def test_sklearn_equals_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    qrels, run = random_case(seed, grades=(0, 0, 1, 2, 3))
    qrels = {query: {**docs, "relevant": 1} for query, docs in qrels.items()}  # scikit-learn warns where nothing is
    found = ours("sklearn", qrels, run, ["nDCG", "nDCG@3", "DCG", "DCG(base=10)@3", "AP", "LRAP"])
    assert {query for _, query in found} == set(run)
    for query, docs in run.items():
        everything = [*docs, *(doc for doc in qrels[query] if doc not in docs)]
        truth = [qrels[query].get(doc, 0) for doc in everything]
        scores = [docs.get(doc, -1.0) for doc in everything]
        relevant = [int(grade >= 1) for grade in truth]
        assert found["nDCG", query] == pytest.approx(metrics.ndcg_score([truth], [scores]), abs=1e-9)
        assert found["nDCG@3", query] == pytest.approx(metrics.ndcg_score([truth], [scores], k=3), abs=1e-9)
        assert found["DCG", query] == pytest.approx(metrics.dcg_score([truth], [scores]), abs=1e-9)
        assert found["DCG(base=10)@3", query] == pytest.approx(metrics.dcg_score([truth], [scores], k=3, log_base=10))
        assert found["AP", query] == pytest.approx(metrics.average_precision_score(relevant, scores), abs=1e-9)
        lrap = metrics.label_ranking_average_precision_score([relevant], [scores])
        assert found["LRAP", query] == pytest.approx(lrap, abs=1e-9)


def test_sklearn_refuses_negative_grades_and_single_documents() -> None:
    with pytest.raises(EvaluationError, match="negative grades"):
        ours("sklearn", {"q": {"a": -1, "b": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ["nDCG"])
    for name in ("nDCG", "DCG"):
        with pytest.raises(EvaluationError, match="one document"):
            ours("sklearn", {"q": {"a": 1}}, {"q": {"a": 1.0}}, [name])
    metrics = pytest.importorskip("sklearn.metrics")
    for score in (metrics.ndcg_score, metrics.dcg_score):
        for grade in (0, 1, 2, 0.5):
            with pytest.raises(ValueError):
                score([[grade]], [[1.0]])
    assert ours("sklearn", {"q": {"a": 1}}, {"q": {"a": 1.0}}, ["AP", "LRAP"]) == {("AP", "q"): 1, ("LRAP", "q"): 1}


def test_dcg_score_takes_negative_grades_as_losses() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    qrels, run = {"q": {"a": 2, "b": -1, "c": 0}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    found = ours("sklearn", qrels, run, ["DCG", "DCG@1", "DCG(base=10)@2"])
    truth, scores = [[-1, 2, 0]], [[3.0, 2.0, 1.0]]
    assert found["DCG", "q"] == pytest.approx(metrics.dcg_score(truth, scores)) == pytest.approx(0.2619, abs=5e-5)
    assert found["DCG@1", "q"] == pytest.approx(metrics.dcg_score(truth, scores, k=1)) == -1
    assert found["DCG(base=10)@2", "q"] == pytest.approx(metrics.dcg_score(truth, scores, k=2, log_base=10))


# Spark: the examples of its RankingMetricsSuite (mllib); the graded one by its formula

SPARK_LISTS = ([1, 6, 2, 7, 8, 3, 9, 10, 4, 5], [4, 1, 5, 6, 2, 7, 3, 8, 9, 10], [1, 2, 3, 4, 5])


def spark_case(*labels: dict[int, float]) -> tuple[Nested, Nested]:
    run = {str(i): {str(doc): -float(rank) for rank, doc in enumerate(docs)} for i, docs in enumerate(SPARK_LISTS)}
    return {str(i): {str(d): g for d, g in judged.items()} | {"none": 0} for i, judged in enumerate(labels)}, run


def test_spark_by_its_own_examples() -> None:
    qrels, run = spark_case(dict.fromkeys([1, 2, 3, 4, 5], 1), dict.fromkeys([1, 2, 3], 1), {})
    expected = {"P@1": 1 / 3, "P@4": 0.75 / 3, "P@10": 0.8 / 3, "P@15": 8 / 45, "AP": 0.355026, "nDCG@3": 1 / 3}
    expected |= {"nDCG@5": 0.328788, "nDCG@10": 0.487913, "R@1": 1 / 15, "R@2": 8 / 45, "AP@1": 1 / 3, "AP@2": 0.25}
    assert ToolEvaluator("spark", qrels, list(expected)).evaluate(run).summary()["run"] == pytest.approx(
        expected, abs=1e-5
    )


def test_spark_takes_the_ideal_as_it_is_given() -> None:
    # gains 1 and 7; the ideal of the qrels' order is 1/log2 2 + 7/log2 3, not 7/log2 2 + 1/log2 3
    found = ours("spark", {"q": {"a": 1, "b": 3}}, {"q": {"b": 2.0, "a": 1.0}}, ["nDCG@10"])
    assert found["nDCG@10", "q"] == pytest.approx((7 + 1 / math.log2(3)) / (1 + 7 / math.log2(3)))
    qrels, run = spark_case({1: 3, 2: 2, 3: 1, 4: 1, 5: 1}, {1: 2, 2: 0, 3: 0}, {})
    scores = ToolEvaluator("spark", qrels, ["nDCG@3", "nDCG@5", "nDCG"]).evaluate(run)
    log2 = math.log2
    first = (7 + 3 / log2(4)) / (7 + 3 / log2(3) + 1 / log2(4))
    assert scores.per_query("nDCG@3") == pytest.approx({"0": first, "1": 1 / log2(3), "2": 0.0})
    assert scores.mean("nDCG@5") == pytest.approx(0.487807, abs=1e-6)
    assert scores.measures[2].cutoff == 10


# torchmetrics 1.9.0 (torch 2.13.0) and BEIR 2.2.0: what they printed for these data


def test_torchmetrics_as_recorded() -> None:
    qrels = {
        "1": {"a": 2, "b": 1, "c": 0, "x": 1, "n": -1},
        "2": {"a": 0, "b": 0},
        "3": {"a": 1, "d": 3},
        "4": {"a": 1},
    }
    run = {
        "1": {"c": 0.9, "a": 0.8, "n": 0.7, "b": -0.1, "u": -0.2},  # b is relevant, but has no positive score
        "2": {"a": 0.5, "b": 0.4},
        "3": {"u": 0.5, "d": 0.5, "a": 0.2},
    }
    recorded = {
        "P@3": {"1": 0.333333, "2": 0},
        "R@3": {"1": 0.5, "2": 0, "3": 1},
        "R@5": {"1": 0.5, "2": 0, "3": 1},
        "RR": {"1": 0.5, "2": 0},
        "AP": {"1": 0.5, "2": 0},
        "AP@2": {"1": 0.5, "2": 0},
        "Success@3": {"1": 1, "2": 0, "3": 1},
        "Rprec": {"1": 0.5, "2": 0, "3": 0.5},
        "nDCG": {"1": 0.531415, "2": 0, "3": 0.811471},
        "nDCG@2": {"1": 0.479625, "2": 0, "3": 0.673765},
    }
    found = ours("torchmetrics", qrels, run, list(recorded))
    assert {query for _, query in found} == {"1", "2", "3"}
    for name, values in recorded.items():
        for query, value in values.items():
            assert found[name, query] == pytest.approx(value, abs=1e-6), (name, query)


def test_torchmetrics_divides_by_the_relevant_found_in_the_top() -> None:
    qrels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 5.0, "x": 4.0, "y": 3.0, "b": 2.0}}
    assert ours("torchmetrics", qrels, run, ["AP@3", "AP"]) == {("AP@3", "q"): 1.0, ("AP", "q"): 0.75}


def test_negative_grades_are_losses_in_torchmetrics() -> None:
    """What it printed: the ideal has all that was retrieved, and grades that add up to 0 are none at all."""
    qrels, run = {"q": {"a": 2, "b": -1, "c": 0}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    found = ours("torchmetrics", qrels, run, ["nDCG", "nDCG@2"])
    assert found == {
        ("nDCG", "q"): pytest.approx(0.174573, abs=1e-6),
        ("nDCG@2", "q"): pytest.approx(0.13093, abs=1e-6),
    }
    assert ours("torchmetrics", {"q": {"b": -1, "a": 1}}, run, ["nDCG"]) == {("nDCG", "q"): 0.0}
    assert ours("torchmetrics", {"q": {"b": -2, "a": 1}}, run, ["nDCG@1"]) == {("nDCG@1", "q"): -2.0}
    tied = {"q": {"b": 3.0, "a": 3.0, "c": 1.0}}
    assert ours("torchmetrics", qrels, tied, ["nDCG@1"]) == {("nDCG@1", "q"): pytest.approx(0.25)}


def test_fall_out_of_torchmetrics() -> None:
    """The examples of its documentation; and where all are relevant, empty_target_action is "pos" by default."""
    preds = {"1": {"a": 0.2, "b": 0.3, "c": 0.5}, "2": {"d": 0.1, "e": 0.3, "f": 0.5, "g": 0.2}}
    target = {"1": {"a": 0, "b": 0, "c": 1, "lost": 1}, "2": {"d": 0, "e": 1, "f": 0, "g": 1}}
    assert ours("torchmetrics", target, preds, ["Fallout@2"]) == {("Fallout@2", "1"): 0.5, ("Fallout@2", "2"): 0.5}
    one = {"q": {"a": 0.2, "b": 0.3, "c": 0.5}}
    assert ours("torchmetrics", {"q": {"a": 1, "c": 1}}, one, ["Fallout@2", "FallOut"]) == {
        ("Fallout@2", "q"): 1.0,
        ("FallOut", "q"): 1.0,
    }
    everything = {"q": {"a": 1, "b": 2, "c": 1}}
    assert ours("torchmetrics", everything, one, ["Fallout@2"]) == {("Fallout@2", "q"): 1.0}
    # a score of 0 or less is no reason to count as not relevant here
    assert ours("torchmetrics", everything, {"q": {"a": -1.0, "x": -2.0}}, ["Fallout@1"]) == {("Fallout@1", "q"): 0.0}
    # a collection of known size overrules
    assert ours("torchmetrics", {"q": {"a": 1}}, one, ["Fallout@2"], docs=11) == {("Fallout@2", "q"): 2 / 10}


def test_beir_as_recorded() -> None:
    qrels = {"q1": {"a": 2, "b": 1, "c": -1, "q1": 1}, "q2": {"a": 1, "b": 0, "d": 1, "e": 1}, "q3": {"a": 1}}
    run = {
        "q1": {"q1": 9.0, "x": 3.0, "a": 2.0, "b": 2.0},
        "q2": {"b": 16777216.0, "a": 16777217.0, "y": 1.0, "d": 0.5},
    }
    recorded = {"nDCG@2": 0.31333, "nDCG@3": 0.4085, "AP@2": 0.16667, "AP@3": 0.27778, "R@2": 0.33333, "R@3": 0.5}
    recorded |= {"P@2": 0.5, "P@3": 0.5, "RR@1": 0.66667, "RR@3": 0.66667, "Success@1": 0.66667, "Success@3": 0.66667}
    if "Accuracy" in REGISTRY:
        recorded |= {"Accuracy@1": 0.66667, "Accuracy@3": 0.66667}
    recorded |= {"R_cap@1": 0.66667, "R_cap@2": 0.33333, "Unjudged@1": 0, "Unjudged@2": 0.16667, "Unjudged@3": 0.22222}
    scores = ToolEvaluator("beir", qrels, list(recorded)).evaluate(run)
    assert scores.summary()["run"] == pytest.approx(recorded, abs=5e-6)


# reference outputs


@pytest.mark.parametrize("year", ["11", "12"])
def test_gdeval_on_web_tracks(shared_data: Path, year: str) -> None:
    runs = sorted((shared_data / "web").glob("*"))
    qrels = next((path for path in runs if "qrels" in path.name and year in path.name), None)
    run = next((path for path in runs if "qrels" not in path.name and f"wt{year}" in path.name), None)
    if qrels is None or run is None:
        pytest.skip("no such files")
    with open(shared_data / f"expected/gdeval/gdeval20.cedr_wt{year}.csv") as lines:
        expected = {row["topic"]: row for row in csv.DictReader(lines)}
    names = ["nDCG@20"] + (["ERR@20"] if "ERR" in REGISTRY else [])
    scores = ToolEvaluator("gdeval", read_qrels(str(qrels)), names).evaluate(read_run(str(run)))
    for name in names:
        values = scores.per_query(name)
        assert set(values) == set(expected) - {"amean"}
        assert scores.mean(name) == pytest.approx(float(expected["amean"][name.lower()]), abs=6e-6)
        for query, value in values.items():
            assert value == pytest.approx(float(expected[query][name.lower()]), abs=6e-6)


@pytest.mark.parametrize("version", ["9.0.8", "10.0"])
@pytest.mark.parametrize("name", ["bm25base_p", "p_bert"])
def test_trec_eval_on_a_real_track(shared_data: Path, version: str, name: str) -> None:
    """What each version printed for TREC's deep learning track of 2019, with -c."""
    with gzip.open(shared_data / f"expected/trec_eval-{version}/dl19.{name}.q_c_all_trec.txt.gz", "rt") as lines:
        printed = [line.split() for line in lines]
    names = [label for label in TREC_NAMES if label not in ("map_cut_3", "success_2")]
    expected = {(label, query): float(value) for label, query, value in printed if label in names}
    tool = f"trec_eval-{version.partition('.')[0]}"
    evaluator = ToolEvaluator(tool, str(shared_data / "dl19/qrels.dl19-passage.txt"), names, missing="zero")
    scores = evaluator.evaluate(str(shared_data / f"dl19/runs/{name}.gz"))
    assert {label for label, _ in expected} == set(names)
    for (label, query), value in expected.items():
        found = scores.mean(label) if query == "all" else scores.per_query(label)[query]
        assert found == pytest.approx(value, abs=5.1e-5), (label, query)


NDEVAL_NAMES = {
    "ERR_IA@5": "ERR-IA@5",
    "ERR_IA@20": "ERR-IA@20",
    "nERR_IA@10": "nERR-IA@10",
    "alpha_DCG@10": "alpha-DCG@10",
    "alpha_nDCG@20": "alpha-nDCG@20",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "AP_IA": "MAP-IA",
    "P_IA@10": "P-IA@10",
    "StRecall@20": "strec@20",
}


def test_ndeval_on_the_web_track(shared_data: Path) -> None:
    if "alpha_nDCG" not in REGISTRY:
        pytest.skip("no such measures")
    with open(shared_data / "expected/ndeval-4.5/ndeval.wt2009.default.csv") as lines:
        expected = {row["topic"]: row for row in csv.DictReader(lines)}
    evaluator = ToolEvaluator("ndeval", str(shared_data / "diversity/wt2009.qrels.gz"), list(NDEVAL_NAMES))
    scores = evaluator.evaluate(str(shared_data / "diversity/wt2009.run.gz"))
    for ours_name, theirs_name in NDEVAL_NAMES.items():
        values = scores.per_query(ours_name)
        assert scores.mean(ours_name) == pytest.approx(float(expected["amean"][theirs_name]), abs=6e-7), ours_name
        for query, value in values.items():
            assert value == pytest.approx(float(expected[query][theirs_name]), abs=6e-7), (ours_name, query)


# what is given explicitly overrules


def test_a_flag_given_explicitly_overrules_the_tool() -> None:
    qrels, run = {"q": {"b": 1}, "r": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert ours("ranx", qrels, run, ["RR"], missing="zero") == {("RR", "q"): 0.5, ("RR", "r"): 0.0}
    assert ours("ranx", qrels, run, ["RR"], missing="skip", ties="trec") == {("RR", "q"): 1.0}
    scores = ToolEvaluator("ir_measures", qrels, ["RR", "RR@2"], ties="best").evaluate(run)
    assert scores.per_query("RR@2") == {"q": 1.0, "r": 0.0}


def test_a_parameter_given_in_the_name_overrules_the_tool() -> None:
    plain = TOOLS["gdeval"].understood("nDCG@10", parse_measure("nDCG@10"))
    linear = TOOLS["gdeval"].understood("nDCG(gain='linear')@10", parse_measure("nDCG(gain='linear')@10"))
    assert (str(plain.measure), str(linear.measure)) == ("nDCG(gain='exp')@10", "nDCG@10")


def test_every_parameter_given_in_the_name_is_kept() -> None:
    """But for β of SetF, which means something else to ir_measures."""
    tried = 0
    for tool in TOOLS.values():
        for kind in (REGISTRY[name] for name in tool.has()):
            given = {field.name for field in fields(kind)} & set(kind.parameters) - {kind.at}
            for label in (f"{kind.name}({name}={v!r}){at}" for name in given for v, at in shown(kind, name)):
                try:
                    asked = parse_measure(label)
                    measure = tool.understood(label, asked).measure
                except MeasureError:
                    continue
                name, tried = label.partition("(")[2].partition("=")[0], tried + 1
                if (tool.name, kind.name, name) != ("ir_measures", "SetF", "beta"):
                    default = next(field.default for field in fields(kind) if field.name == name)
                    assert getattr(measure, name, default) == getattr(asked, name), (tool.name, label)
    assert tried > 100


def shown(kind: Any, name: str) -> list[tuple[Any, str]]:
    return [(v, at) for v in kind.parameters[name].example_values() for at in ("", "@5", "@0.3")]


def test_a_denominator_given_in_the_name_is_that_of_torchmetrics_too() -> None:
    qrels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 5.0, "x": 4.0, "y": 3.0, "b": 2.0}}
    names = ["AP@3", "AP(denominator='R')@3"]
    # of the relevant documents it knows the two that were retrieved
    assert ours("torchmetrics", qrels, run, names) == {(names[0], "q"): 1.0, (names[1], "q"): 0.5}


def test_a_gain_under_another_name_overrules_too() -> None:
    for label in ("nDCG(dcg='log2')@10", "nDCG(gains={1:1})@10"):
        asked = parse_measure(label)
        assert TOOLS["gdeval"].understood(label, asked).measure == asked


def test_a_parameter_that_means_something_else_is_read_as_the_tool_reads_it() -> None:
    setting = TOOLS["ir_measures"].understood("SetF(beta=4)", parse_measure("SetF(beta=4)"))
    assert setting.measure == parse_measure("SetF(beta=2)")


def test_a_measure_that_the_tool_does_not_have_is_an_error_that_names_those_it_has() -> None:
    with pytest.raises(MeasureError, match="gdeval 1.3 has no AP. It has nDCG"):
        ToolEvaluator("gdeval", {"q": {"a": 1}}, ["AP"])
    with pytest.raises(CranfieldError, match="expected one of trec_eval-9"):
        ToolEvaluator("trec", {"q": {"a": 1}}, ["AP"])


def test_without_measures_a_tool_has_its_usual_ones() -> None:
    qrels = {"q": {"a": 1}}
    assert ToolEvaluator("gdeval", qrels).labels[0] in ("nDCG@10", "nDCG@20")
    assert ToolEvaluator("trec_eval-9", qrels).labels == ("nDCG@10", "AP", "RR", "P@10", "R@100")


def test_bounds_and_weights_go_with_a_tool() -> None:
    qrels, run = random_case(3)
    both = ToolEvaluator("ir_measures", qrels, ["RR@3", "P@3"], bounds=True, weights=dict.fromkeys(qrels, 2.0))
    scores = both.evaluate(run)
    assert scores.labels == ("RR@3", "RR@3.low", "RR@3.high", "P@3", "P@3.low", "P@3.high")
    for name in ("RR@3", "P@3"):
        assert (scores.values(f"{name}.low") <= scores.values(name)).all()
        assert (scores.values(name) <= scores.values(f"{name}.high")).all()


def test_coverage_is_told_of_the_data_as_they_are() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"a": 0}, "3": {"a": 1}}, {"1": {"a": -1.0}, "2": {"a": -1.0}}
    scores = ToolEvaluator("gdeval", qrels, ["nDCG@5"]).evaluate(run)
    assert scores.n() == 1 and scores.unjudged(5) == 0
    assert ToolEvaluator("torchmetrics", qrels, ["AP"]).evaluate(run).unjudged(5) == 0


def test_ours_is_what_evaluate_gives() -> None:
    qrels, run = random_case(5)
    for name in ("nDCG@5", "AP", "RR", "NumRet"):
        comparison = compare_tools(name, qrels, run)
        assert comparison.value == evaluate(qrels, run, [name]).mean(name)
        assert comparison.per_query == evaluate(qrels, run, [name]).per_query(name)


# which convention is responsible


@pytest.mark.parametrize(
    ("tool", "measure", "what"),
    [
        ("gdeval", "nDCG@3", {"gain"}),
        ("spark", "AP@1", {"denominator"}),
        ("spark", "nDCG@3", {"gain", "ideal"}),
        ("torchmetrics", "AP", {"ideal"}),
        ("sklearn", "nDCG@5", {"documents"}),
        ("trec_eval-9", "AP", set()),
    ],
)
def test_the_convention_responsible_is_named(tool: str, measure: str, what: set[str]) -> None:
    qrels = {"q": {"z": 1, "a": 3, "c": 2}}
    run = {"q": {"c": 3.0, "x": 2.5, "a": 2.0}}
    (value,) = compare_tools(measure, qrels, run, tools=[tool]).tools
    assert what <= {reason.what for reason in value.reasons}
    assert bool(value.reasons) == bool(what)


def test_conventions_that_matter_only_together_are_named_and_no_others() -> None:
    qrels, run = {"q": {"a": 1, "c": 1}}, {"q": {"a": 1.0, "b": 1.000000001}}
    for name, what, queries in (
        ("P@1", ["score precision", "ties"], [0, 0]),
        # without the rest of what is relevant AP is .5, the other half comes from the tie in float32
        ("AP", ["score precision", "ties", "ideal"], [0, 0, 1]),
    ):
        (value,) = compare_tools(name, qrels, run, tools=["torchmetrics"]).tools
        assert value.value == 1
        assert [reason.what for reason in value.reasons] == what
        assert [reason.queries for reason in value.reasons] == queries


def test_one_convention_is_named_where_it_explains_all() -> None:
    # over the relevant documents found, or over those known: either does it
    qrels, run = {"q": {"a": 1, "c": 1}}, {"q": {"a": 1.0}}
    (value,) = compare_tools("AP", qrels, run, tools=["torchmetrics"]).tools
    assert [reason.what for reason in value.reasons] == ["ideal"]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_blamed_makes_the_tools_values_of_ours_and_nothing_less_does(seed: int) -> None:
    qrels, run = random_case(seed)
    for name in ("nDCG@5", "AP@3", "RR@3", "DCG@5"):
        asked = parse_measure(name)
        for value in compare_tools(name, qrels, run).tools:
            tool = TOOLS[value.tool]
            if value.value is None or not value.reasons:
                continue
            blamed = [d for d in tool.differences(asked) or () if d.what in {r.what for r in value.reasons}]
            assert values_under(asked, blamed, qrels, run) == pytest.approx(value.per_query)
            for left_out in blamed:
                fewer = [d for d in blamed if d is not left_out]
                assert values_under(asked, fewer, qrels, run) != pytest.approx(value.per_query)


def values_under(asked: Any, differences: list[Any], qrels: Nested, run: Nested) -> dict[str, float]:
    setting = Setting(asked)
    for difference in differences:
        setting = difference.change(setting)
    judged, ranked = setting.prepared(as_qrels(qrels), as_run(run))
    joining = {name: getattr(setting.joining, name) for name in ("ties", "rank_by", "score_type", "missing")}
    return evaluate(judged, ranked, [setting.measure], **joining).per_query(str(setting.measure))


def test_a_document_twice_stops_us_and_most_tools(tmp_path: Path) -> None:
    file = tmp_path / "run"
    file.write_text("q Q0 b 1 3 x\nq Q0 a 2 2 x\nq Q0 b 3 1 x\n")
    comparison = compare_tools("RR", {"q": {"a": 1}}, str(file), tools=["trec_eval-9", "ir_measures", "ranx"])
    assert "retrieved twice" in str(comparison.stops) and math.isnan(comparison.value)
    assert comparison.record()["value"] is None and comparison.record()["stops"] == comparison.stops
    trec, *others = comparison.tools
    assert trec.stops == comparison.stops and trec.value is None
    for value in others:
        assert value.value == 1 and [reason.what for reason in value.reasons] == ["duplicates"]
    asked = compare_tools("RR", {"q": {"a": 1}}, str(file), tools=["trec_eval-9"], on_duplicate="first")
    assert (asked.value, asked.tools[0].value, asked.stops) == (0.5, 0.5, None)


def test_rbp_can_be_compared() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    for name, ten in (("RBP", 0.1 * (0.9 + 0.81)), ("RBP(p=0.5)", 0.5 * (0.5 + 0.25))):
        tools = {value.tool: value for value in compare_tools(name, qrels, run).tools}
        assert tools["trec_eval-10"].value == pytest.approx(ten)
        assert ours("trec_eval-10", qrels, run, [name])[name, "q"] == pytest.approx(ten)
        assert tools["trec_eval-9"].measure is None


def test_rndcg_is_trec_evals_where_the_list_is_one_longer_than_the_best() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    for tool in ("trec_eval-9", "trec_eval-10"):
        assert ours(tool, qrels, run, ["Rndcg"]) == {("Rndcg", "q"): pytest.approx(0.38685, abs=5e-6)}


def test_ties_precision_and_missing_queries_are_told_apart() -> None:
    qrels = {"tied": {"a": 1}, "close": {"a": 1}, "missing": {"a": 1}}
    run = {"tied": {"b": 1.0, "a": 1.0}, "close": {"a": 16777217.0, "b": 16777216.0}}
    comparison = compare_tools("RR", qrels, run)
    values = {value.tool: value for value in comparison.tools}
    assert {r.what: r.queries for r in values["trec_eval-9"].reasons} == {"score precision": 1, "missing queries": 1}
    assert [r.what for r in values["ir_measures"].reasons] == ["score precision"]
    assert values["ranx"].stops and "lacks 1 of 3" in values["ranx"].stops and values["ranx"].value is None
    assert values["gdeval"].measure is None
    assert comparison.differing == {
        "close": ["trec_eval-9", "ir_measures"],
        "missing": ["trec_eval-9", "torchmetrics"],
    }


@pytest.mark.parametrize("seed", range(4))
def test_where_values_are_the_same_nothing_is_blamed(seed: int) -> None:
    qrels, run = random_case(seed)
    for name in ("nDCG@5", "AP@3", "RR@3", "P@5"):
        for value in compare_tools(name, qrels, run).tools:
            if value.measure is None or (value.stops is not None and not value.per_query):
                assert bool(value.reasons) == (value.measure is not None)  # it is said why it stops
                continue
            same = value.per_query == pytest.approx(evaluate(qrels, run, [name]).per_query(name))
            assert bool(value.reasons) == (not same)


def test_one_query_alone_can_be_compared() -> None:
    qrels, run = random_case(2)
    alone, all_of_them = compare_tools("nDCG@5", qrels, run, query="1"), compare_tools("nDCG@5", qrels, run)
    for one, other in zip(alone.tools, all_of_them.tools, strict=True):
        if one.stops is None and other.stops is None:
            assert one.per_query.get("1") == other.per_query.get("1")


def test_no_difference_changes_the_setting_it_is_given() -> None:
    start = Setting(parse_measure("nDCG@10"))
    for tool in TOOLS.values():
        for difference in tool.differences(start.measure) or ():
            assert difference.change(start) != start
            assert start == Setting(parse_measure("nDCG@10"))


def test_a_comparison_is_a_record_for_json() -> None:
    qrels, run = random_case(1)
    record = json.loads(json.dumps(compare_tools("nDCG@5", qrels, run).record(), allow_nan=False))
    assert [tool["tool"] for tool in record["tools"]] == list(TOOLS)
    assert record["value"] == pytest.approx(evaluate(qrels, run, ["nDCG@5"]).mean("nDCG@5"))


def test_preferences_are_ordered_by_doc_id_ascending_as_trec_eval_does() -> None:
    """The example of the field notes: two documents tie, and the one with the smaller id comes first."""
    rows = [("u1", "s1", "a", 2), ("u1", "s1", "b", 1), ("u1", "s1", "c", 0), ("u1", "s1", "d", 0)]
    rows += [("u2", "s1", "b", 3), ("u2", "s1", "a", 1), ("u2", "s2", "a", 2), ("u2", "s2", "e", 0)]
    qrels = Qrels.from_rows(
        ["1"] * len(rows),
        [doc for _, _, doc, _ in rows],
        [level for _, _, _, level in rows],
        subtopics=[group for group, _, _, _ in rows],
        extra={"subgroup": [subgroup for _, subgroup, _, _ in rows]},
    )
    run = {"1": {"c": 5.0, "a": 5.0, "x": 4.0, "b": 3.0}}
    expected = {"prefs_simp": 0.75, "prefs_pair": 0.7857, "prefs_avgjg": 0.7333, "prefs_avgjg_Rnonrel": 0.8}
    for version in ("trec_eval-9", "trec_eval-10"):
        scores = ToolEvaluator(version, qrels, list(expected)).evaluate(run)
        assert {name: scores.mean(name) for name in expected} == pytest.approx(expected, abs=5.1e-5)


def test_a_nickname_stands_for_what_the_version_has() -> None:
    qrels, _ = random_case(1)
    nine = ToolEvaluator("trec_eval-9", qrels, ["all_trec"], missing="zero").labels
    ten = ToolEvaluator("trec_eval-10", qrels, ["all_trec"], missing="zero").labels
    assert "map" in nine and {"rbp", "rbp_resid", "unj_5"} <= set(ten) - set(nine)
    assert set(nine) < set(ten)
