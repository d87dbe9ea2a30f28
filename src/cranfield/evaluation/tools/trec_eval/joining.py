"""The topics to evaluate, joined; and the first of them that trec_eval cannot evaluate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base import Record, encode_id, replace
from cranfield.data import Qrels, Run
from cranfield.evaluation.tools.trec_eval.arguments import Options
from cranfield.evaluation.tools.trec_eval.outcome import ABORT, Stop, crash
from cranfield.joining import Joining, JudgedRun, join_run
from cranfield.measures import FAMILIES, PreferenceConflict, positions, preferences_of

STAND_IN = "ceci_nest_pas_un_docno"  # what version 10 takes as the list of a missing topic
NOT_POOLED, NOT_JUDGED = -1.0, -2.0  # trec_eval's labels
_WRONG_FORMAT = {
    "qrels": "trec_eval.form_res_qrels: rel_info format not qrels or results format not trec_results\n",
    "qrels_jg": "trec_eval: rel_info format not qrels_jg or results format not trec_results\n",
    "prefs": "trec_eval.form_prefs_info: prefs_info format not (prefs or qrels_prefs) or results format not "
    "trec_results\n",
}


class Topics(Record, eq=False):
    """Topics in the order of their bytes, with all that was retrieved for each up to the limit (-M)."""

    queries: tuple[str, ...]
    stand_ins: frozenset[str]  # those that the run lacks, and version 10 gives a list
    judged: JudgedRun | None  # a dense join; None if there are no topics
    stop: Stop | None = None  # what happens after them

    @property
    def n(self) -> int:
        return len(self.queries)


class Problem(Record):
    """The topic that cannot be evaluated, and what trec_eval says."""

    topic: int
    stop: Stop


def join(qrels: Qrels, run: Run, options: Options) -> Topics:
    """Version 9 evaluates the topics that both have, version 10 those of the judgments."""
    asked = [topic for topic in qrels.queries if options.only in (None, topic)]
    missing = [topic for topic in asked if topic not in run.position]
    stop = None
    if options.version < 10:
        asked = [topic for topic in asked if topic in run.position]
    elif missing and not options.complete:
        asked = asked[: asked.index(missing[0])]
        stop = Stop(4, f"trec_eval: result qid '{missing[0]}' not found in qrels\n")
    stand_ins = frozenset(missing) & frozenset(asked)
    judged = _judged(_of(qrels, asked), _with_stand_ins(run, asked), options) if asked else None
    return Topics(tuple(asked), stand_ins, judged, stop)


def _judged(qrels: Qrels, run: Run, options: Options) -> JudgedRun:
    # preferences break ties by doc id ascending, everything else descending
    ties = "doc-ascending" if options.judgments in ("prefs", "qrels_prefs") else "trec"
    score_type = "float64" if options.version >= 10 else "float32"
    judged = join_run(qrels, run, Joining(ties, "score", score_type), dense=True)  # type: ignore[arg-type]
    most = max(options.most, 0)
    return replace(judged.only(judged.rank <= most), retrieved=np.minimum(judged.retrieved, most))


def labelled(judged: JudgedRun) -> JudgedRun:
    """With trec_eval's labels in place of grades, where a level or a gain may be negative."""
    grade = np.where(np.isnan(judged.grade), NOT_POOLED, np.where(judged.grade < 0, NOT_JUDGED, judged.grade))
    known = judged.ideal >= 0
    sizes = np.bincount(judged.ideal_query[known], minlength=judged.n)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return replace(judged, grade=grade, ideal=judged.ideal[known], ideal_starts=starts)


def _of(qrels: Qrels, topics: Sequence[str]) -> Qrels:
    at = {query: i for i, query in enumerate(qrels.queries)}
    rows = _rows([qrels.rows_of(at[topic]) for topic in topics])
    return replace(
        qrels,
        queries=tuple(topics),
        starts=_starts([qrels.rows_of(at[topic]) for topic in topics]),
        docs=qrels.docs[rows],
        grades=qrels.grades[rows],
        subtopics=qrels.subtopics[rows],
        lines=qrels.lines[rows],
        extra={name: column[rows] for name, column in qrels.extra.items()},
    )


def _with_stand_ins(run: Run, topics: Sequence[str]) -> Run:
    """The lists of these topics; a missing one has the list of version 10, one unknown document."""
    end = len(run.docs)
    slices = [run.rows_of(run.position[topic]) if topic in run.position else slice(end, end + 1) for topic in topics]
    docs = np.append(run.docs, np.array([STAND_IN], dtype=object))
    scores = np.append(run.scores, 1.0)
    rows = _rows(slices)
    return replace(run, queries=tuple(topics), starts=_starts(slices), docs=docs[rows], scores=scores[rows])


def _rows(slices: Sequence[slice]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.concatenate([np.arange(part.start, part.stop) for part in slices]).astype(np.int64)


def _starts(slices: Sequence[slice]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.concatenate(([0], np.cumsum([part.stop - part.start for part in slices]))).astype(np.int64)


# what cannot be evaluated


def first_problem(topics: Topics, options: Options, families: Sequence[str], wrong: Sequence[str]) -> Problem | None:
    """The first topic with a measure that cannot be calculated; `wrong` are families that never can."""
    kinds = {FAMILIES[family].judgments: family for family in reversed(families)}
    # measures of a kind have the same problems; the first reports them
    tested = [family for family in families if family in wrong or kinds[FAMILIES[family].judgments] == family]
    tested = [family for family in tested if FAMILIES[family].judgments != "any"]
    for i in range(topics.n):
        for family in tested:
            try:
                message = _trouble(topics, i, FAMILIES[family].judgments, options)
            except Stop as stop:
                return Problem(i, stop)
            if message is None and family in wrong:
                message = "trec_eval.calc_utility: improper number of coefficients\n"
            if message is not None:
                return Problem(i, Stop(4, f"{message}trec_eval: Can't calculate measure '{family}'\n"))
    return None if topics.stop is None else Problem(topics.n, topics.stop)


def _trouble(topics: Topics, i: int, kind: str, options: Options) -> str | None:
    """What trec_eval says before it gives up on a topic; None if it does not."""
    judged = topics.judged
    assert judged is not None, "there are no topics"
    if kind != options.judgments.replace("qrels_prefs", "prefs"):
        return _WRONG_FORMAT[kind]
    reader = "form_prefs_counts" if kind == "prefs" else "form_res_qrels"
    twice = _repeated(judged.ranking(i)[: max(options.most, 0)])
    if twice is not None:
        return f"trec_eval.{reader}: duplicate docs {twice}"
    if kind == "qrels":
        return _qrels_trouble(judged, i)
    return _prefs_trouble(judged, i) if kind == "prefs" else None


def _repeated(docs: Sequence[str]) -> str | None:
    """The first document that occurs twice, by the bytes of its id."""
    if len(set(docs)) == len(docs):
        return None
    seen: set[str] = set()
    return min((doc for doc in docs if doc in seen or seen.add(doc)), key=encode_id)  # type: ignore[func-returns-value]


def _qrels_trouble(judged: JudgedRun, i: int) -> str | None:
    qrels = judged.sources.qrels
    twice = _repeated(qrels.docs[qrels.rows_of(i)].tolist())
    if twice is not None:
        return f"trec_eval.form_res_rels: duplicate docs {twice}\n"
    highest = [float(qrels.grades[qrels.rows_of(j)].max()) for j in range(i + 1)]
    if highest[-1] >= 0:
        return None
    # counts by level are kept in an array that only a topic with a level makes (form_res_rels.c)
    if not any(level >= 0 for level in highest):
        return ""
    if highest[-1] < -1:
        raise crash("all levels of a topic are below -1")
    return None


def _prefs_trouble(judged: JudgedRun, i: int) -> str | None:
    qrels = judged.sources.qrels
    rows = qrels.rows_of(i)
    subgroups = qrels.extra["subgroup"][rows] if "subgroup" in qrels.extra else ["0"] * (rows.stop - rows.start)
    groups: dict[str, dict[str, list[tuple[str, float]]]] = {}
    for group, subgroup, doc, level in zip(
        qrels.subtopics[rows], subgroups, qrels.docs[rows], qrels.grades[rows], strict=True
    ):
        groups.setdefault(group, {}).setdefault(subgroup, []).append((doc, float(level)))
    for group in sorted(groups, key=encode_id):
        several = [pair for part in groups[group].values() for pair in part]
        message = _inconsistent(several, len(groups[group]) > 1, judged, i)
        if message is not None:
            return message
    try:
        preferences_of(judged, i)
    except PreferenceConflict as conflict:
        x, y = conflict.positions
        raise Stop(
            ABORT,
            "trec_eval.form_prefs_counts: Pref inconsistency found\n"
            f"      internal rank {x} and internal rank {y} are conflicted\n",
        ) from None
    return None


def _inconsistent(rows: list[tuple[str, float]], partial: bool, judged: JudgedRun, i: int) -> str | None:
    """Two levels of one document that cannot go together."""
    levels: dict[str, float] = {}
    for doc, level in rows:
        known = levels.setdefault(doc, level)
        if partial and (known > 0 and level == 0 or known == 0 and level > 0):
            return f"trec_eval.form_prefs_counts: doc '{doc}' has both 0 and non-0 rel_level assigned\n"
        if not partial and known != level:
            number = positions(judged, i)[doc]
            return f"trec_eval.form_prefs_counts: Internal docid {number} occurs with different rel_level in same jsg\n"
    return None
