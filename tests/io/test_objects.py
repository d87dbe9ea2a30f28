"""Whatever a user has in memory becomes a Run or Qrels, and no library is imported for it."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from cranfield import as_qrels, as_run, from_arrays
from cranfield.errors import CranfieldError, DuplicateError, InputError
from tests.waiting import TIMEOUT

RUN = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 0.5}}
QRELS = {"q1": {"d1": 1.0, "d2": 0.0}, "q2": {"d1": 2.0}}
RUN_COLUMNS = {
    "qid": ["q1", "q1", "q2"],
    "query": ["wing flow", "wing flow", "heat"],
    "docno": ["d1", "d2", "d1"],
    "score": [2.5, 1.5, 0.5],
    "rank": [0, 1, 0],
}
QRELS_COLUMNS = {"qid": ["q1", "q1", "q2"], "docno": ["d1", "d2", "d1"], "label": [1, 0, 2]}

PROOF = """
import sys
import cranfield
scores = cranfield.evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 1.5}}, ["nDCG@10", "AP", "RR"])
assert scores.mean("RR") == 0.5
loaded = {"pandas", "polars", "pyarrow", "scipy.stats", "ir_datasets", "zstandard"} & set(sys.modules)
sys.exit(f"imported {loaded}" if loaded else 0)
"""


def pandas_frame(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_frame(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def lazy_frame(columns: dict[str, list[Any]]) -> Any:
    return polars_frame(columns).lazy()


def arrow_table(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def arrow_batch(columns: dict[str, list[Any]]) -> Any:
    return arrow_table(columns).to_batches()[0]


def arrow_columns(columns: dict[str, list[Any]]) -> Any:
    table = arrow_table(columns)
    return {name: table[name] for name in columns}


def numpy_columns(columns: dict[str, list[Any]]) -> Any:
    return {name: np.array(values) for name, values in columns.items()}


def structured_array(columns: dict[str, list[Any]]) -> Any:
    arrays = numpy_columns(columns)
    table = np.empty(3, dtype=[(name, values.dtype) for name, values in arrays.items()])
    for name, values in arrays.items():
        table[name] = values
    return table


def records(columns: dict[str, list[Any]]) -> Any:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def named_tuples(columns: dict[str, list[Any]]) -> Any:
    kind = namedtuple("kind", columns)  # type: ignore[misc]
    return (kind(*row) for row in zip(*columns.values(), strict=True))


MAKERS = [
    pandas_frame,
    polars_frame,
    lazy_frame,
    arrow_table,
    arrow_batch,
    arrow_columns,
    numpy_columns,
    structured_array,
    records,
    named_tuples,
    dict,
]
Maker = Callable[[dict[str, list[Any]]], Any]


@pytest.mark.parametrize("make", MAKERS)
def test_tables_of_every_kind_are_runs(make: Maker) -> None:
    run = as_run(make(RUN_COLUMNS))
    assert run.to_dict() == RUN
    assert run.ranks is not None and run.ranks.tolist() == [0, 1, 0]


@pytest.mark.parametrize("make", MAKERS)
def test_tables_of_every_kind_are_qrels(make: Maker) -> None:
    assert as_qrels(make(QRELS_COLUMNS)).to_dict() == QRELS


@pytest.mark.parametrize("make", MAKERS)
def test_a_run_of_pyterrier_is_no_qrels(make: Maker) -> None:
    with pytest.raises(InputError, match="record 1: 'score' beside 'rank' looks like a run"):
        as_qrels(make(RUN_COLUMNS))


@pytest.mark.parametrize("make", MAKERS)
def test_ids_in_tables_may_be_whole_numbers(make: Maker) -> None:
    assert as_run(make({"qid": [1, 1, 2], "docid": [7, 8, 7], "score": [1, 2, 3]})).to_dict() == {
        "1": {"7": 1.0, "8": 2.0},
        "2": {"7": 3.0},
    }


@pytest.mark.parametrize("make", MAKERS)
def test_a_wrong_value_is_named_with_its_record(make: Maker) -> None:
    columns = {"qid": ["q", "q", "q"], "docid": ["a", "b", "c"], "score": [1.0, float("nan"), 1.0]}
    with pytest.raises(InputError, match="^record 2: score nan is not a decimal number"):
        as_run(make(columns))


@pytest.mark.parametrize("make", MAKERS)
def test_a_document_twice_is_an_error_or_settled(make: Maker) -> None:
    columns = {"qid": ["q", "q", "q"], "docid": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]}
    with pytest.raises(DuplicateError, match="^record 3: document 'a' is retrieved twice .* first in record 1"):
        as_run(make(columns))
    assert as_run(make(columns), on_duplicate="max").to_dict() == {"q": {"a": 3.0, "b": 2.0}}


def test_dicts_of_dicts_are_runs_and_qrels() -> None:
    assert as_run(RUN).to_dict() == RUN
    assert as_qrels(QRELS).to_dict() == QRELS
    assert as_run(MappingProxyType(RUN)).to_dict() == RUN
    assert as_run({1: {2: np.float32(0.5)}}).to_dict() == {"1": {"2": 0.5}}
    assert as_qrels({"q": {"d": "perfect", "e": 1}}).to_dict() == {"q": {"d": 4.0, "e": 1.0}}


def test_a_query_without_documents_is_kept() -> None:
    assert as_run({"q1": {}, "q2": {"d": 1}}).to_dict() == {"q1": {}, "q2": {"d": 1.0}}
    assert as_run({}).queries == ()
    assert as_qrels({"q1": {}}).to_dict() == {"q1": {}}


RAG = [
    {"query_id": "q1", "retrieved_ids": ["b", "a"], "relevant_ids": ("a",)},
    {"query_id": "q2", "retrieved_ids": ["c"], "relevant_ids": {"c": 2, "d": 0}},
]


def test_rag_style_records_are_runs_and_qrels() -> None:
    assert as_run(RAG).to_dict() == {"q1": {"b": 1.0, "a": 0.5}, "q2": {"c": 1.0}}
    assert as_qrels(RAG).to_dict() == {"q1": {"a": 1.0}, "q2": {"c": 2.0, "d": 0.0}}
    scored = [{"query_id": "q", "retrieved": [{"id": "a", "score": 0.5}, {"id": "b", "score": 2}]}]
    assert as_run(scored).to_dict() == {"q": {"a": 0.5, "b": 2.0}}


def test_rag_style_columns_are_runs_too() -> None:
    columns = {"query_id": ["q1", "q2"], "retrieved_ids": [["b", "a"], ["c"]]}
    expected = {"q1": {"b": 1.0, "a": 0.5}, "q2": {"c": 1.0}}
    assert as_run(columns).to_dict() == expected
    for library in ("pandas", "polars"):
        assert as_run(pytest.importorskip(library).DataFrame(columns)).to_dict() == expected


def test_a_query_in_two_rag_style_records_is_an_error_with_both() -> None:
    for convert in (as_run, as_qrels):
        with pytest.raises(DuplicateError, match="^record 3: query 'q1' occurs twice, first in record 1"):
            convert([*RAG, RAG[0]])


@pytest.mark.parametrize("make", MAKERS)
def test_docno_is_the_document_where_there_is_a_docid_too(make: Maker) -> None:
    columns = {"qid": ["q"] * 3, "docid": [17, 18, 19], "docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]}
    assert as_run(make(columns)).to_dict() == {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    columns = {"qid": ["q"] * 3, "doc_id": [17, 18, 19], "docno": ["a", "b", "c"], "label": [2, 1, 0]}
    assert as_qrels(make(columns)).to_dict() == {"q": {"a": 2.0, "b": 1.0, "c": 0.0}}


def test_triples_are_records() -> None:
    triples = [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d1", 0.5)]
    assert as_run(triples).to_dict() == RUN
    assert as_run(iter(triples)).to_dict() == RUN
    assert as_qrels([list(triple) for triple in triples]).to_dict() == RUN


def test_what_is_a_run_already_stays_what_it_is() -> None:
    run, qrels = as_run(RUN), as_qrels(QRELS)
    assert as_run(run) is run
    assert as_qrels(qrels) is qrels
    assert as_run(run, name="bm25").name == "bm25"
    assert run.name == "run"


def test_a_file_name_is_read(tmp_path: Any) -> None:
    (tmp_path / "bm25.run").write_text("q Q0 d 1 1 t\n")
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    assert as_run(tmp_path / "bm25.run").name == "bm25.run"
    assert as_run(str(tmp_path / "bm25.run"), name="x").name == "x"
    assert as_qrels(str(tmp_path / "qrels")).to_dict() == {"q": {"d": 1.0}}


class TrecQrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


class TrecSubQrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    subtopic_id: str


class TrecPrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    method: int
    iprob: float


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class Dataset:
    """As ir_datasets' data sets are."""

    def qrels_iter(self) -> Iterator[TrecQrel]:
        return iter([TrecQrel("q1", "d1", 1, "0"), TrecQrel("q1", "d2", 0, "0"), TrecQrel("q2", "d1", 2, "0")])

    def scoreddocs_iter(self) -> Iterator[ScoredDoc]:
        return iter([ScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items()])


def test_ir_datasets_objects_are_runs_and_qrels() -> None:
    assert as_qrels(Dataset()).to_dict() == QRELS
    assert as_run(Dataset()).to_dict() == RUN
    assert as_qrels(Dataset().qrels_iter()).to_dict() == QRELS


def test_qrels_of_ir_datasets_keep_subtopics_and_probabilities() -> None:
    qrels = as_qrels([TrecSubQrel("q", "d", 1, "1"), TrecSubQrel("q", "d", 0, "2")])
    assert qrels.subtopics.tolist() == ["1", "2"]
    assert as_qrels([TrecPrel("q", "d", 1, 1, 0.25)]).extra["probability"].tolist() == ["0.25"]


def test_real_ir_datasets_objects_are_read() -> None:
    formats = pytest.importorskip("ir_datasets.formats")
    qrels = [formats.TrecQrel(q, d, int(g), "0") for q, docs in QRELS.items() for d, g in docs.items()]
    scored = [formats.GenericScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    assert as_qrels(qrels).to_dict() == QRELS
    assert as_run(scored).to_dict() == RUN


def test_dense_arrays_are_qrels_and_a_run() -> None:
    qrels, run = from_arrays([[1, 0, np.nan], [0, 2, 1]], [[0.5, 0.25, 1.0], [3, 2, 1]])
    assert qrels.to_dict() == {"0": {"0": 1.0, "1": 0.0}, "1": {"0": 0.0, "1": 2.0, "2": 1.0}}
    assert run.to_dict() == {"0": {"0": 0.5, "1": 0.25, "2": 1.0}, "1": {"0": 3.0, "1": 2.0, "2": 1.0}}
    one_query, _ = from_arrays([1, 0], [0.5, 0.25])
    assert one_query.to_dict() == {"0": {"0": 1.0, "1": 0.0}}


@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [
        ([[1, 0]], [[1, 2, 3]], r"y_true has shape \(1, 2\), y_score \(1, 3\)"),
        ([[1, 0]], [[1, np.nan]], "y_score holds a value that is not a finite number"),
        ([[1, 0]], [[1, np.inf]], "y_score holds a value that is not a finite number"),
        ([[np.inf, 0]], [[1, 2]], "y_true holds an infinite grade"),
        ([["a", 0]], [[1, 2]], "y_true is not an array of numbers"),
        ([[1, 0], [1]], [[1, 2]], "y_true is not an array of numbers"),
        (np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), "y_true has 3 dimensions"),
        (None, [[1]], "y_true"),
    ],
)
def test_arrays_that_do_not_fit_are_errors(truth: Any, scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_arrays(truth, scores)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        3,
        3.5,
        b"q Q0 d 1 1 t",
        object(),
        {"q1": 3},
        {"q1": "d1"},
        {"q1": ["d1", "d2"]},
        {"q1": {"d": 1}, "q2": 3},
        {"q": {"d": None}},
        {"q": {"d": [1]}},
        {"q": {"d": True}},
        {"q": {"d": 1j}},
        {"q": {"d": np.complex128(1)}},
        {"q": {"d": float("inf")}},
        {"q": {"d": "nan"}},
        {"q": {"d": 10**400}},
        {"q": {"d": 10**5000}},
        {"q": {10**5000: 1}},
        {"q": {None: 1}},
        {"q": {"": 1}},
        {"q": {"a\nb": 1}},
        {"q": {"\ud800": 1}},
        {1.5: {"d": 1}},
        {("q",): {"d": 1}},
        [1, 2],
        ["q d 1"],
        [("q", "d")],
        [{"qid": "q"}],
        [{1: 2, 3: 4}],
        [{}],
        {"qid": ["q"], "docid": ["a", "b"], "score": [1]},
        {"qid": ["q"], "docid": ["a"]},
        np.zeros((2, 2)),
        np.zeros(3),
    ],
)
@pytest.mark.parametrize("convert", [as_run, as_qrels])
def test_what_is_none_of_this_is_an_error(convert: Callable[[Any], object], wrong: Any) -> None:
    with pytest.raises(CranfieldError):
        convert(wrong)


def test_two_columns_of_one_name_are_an_error() -> None:
    frame = pandas_frame(RUN_COLUMNS)
    frame.columns = ["qid", "qid", "docno", "score", "rank"]
    with pytest.raises(InputError, match="two columns have the same name"):
        as_run(frame)


def test_columns_of_different_length_are_an_error() -> None:
    with pytest.raises(InputError, match="columns differ in length: qid 1, docid 2, score 1"):
        as_run({"qid": ["q"], "docid": ["a", "b"], "score": [1]})


def test_a_wrong_value_in_a_dict_is_named_with_query_and_document() -> None:
    with pytest.raises(InputError, match="query 'q', document 'd': score nan is not a decimal number"):
        as_run({"q": {"d": float("nan")}})
    with pytest.raises(InputError, match="query 'q', document 'd': grade 'best' is neither"):
        as_qrels({"q": {"d": "best"}})


def test_missing_columns_are_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match="no document .*found qid, score"):
        as_run({"qid": ["q"], "score": [1]})


def test_frames_come_back_as_they_went() -> None:
    run, qrels = as_run(RUN), as_qrels([TrecSubQrel("q", "d", 1, "1"), TrecSubQrel("q", "e", 0, "2")])
    for convert in ("to_pandas", "to_polars", "to_arrow"):
        pytest.importorskip({"to_arrow": "pyarrow"}.get(convert, convert[3:]))
        assert as_run(getattr(run, convert)()).to_dict() == RUN
        back = as_qrels(getattr(qrels, convert)())
        assert back.subtopics.tolist() == ["1", "2"]
        assert back.to_dict() == qrels.to_dict()


def test_importing_and_evaluating_imports_no_frame_library() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROOF], capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (0, "")


def test_reading_text_files_imports_no_frame_library(tmp_path: Any) -> None:
    (tmp_path / "run").write_text("q Q0 d 1 1 t\n")
    program = PROOF.replace("import cranfield\n", f"import cranfield\ncranfield.read_run({str(tmp_path / 'run')!r})\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (0, "")


def test_converting_leaves_its_argument_alone() -> None:
    columns = {name: list(values) for name, values in RUN_COLUMNS.items()}
    as_run(columns)
    assert columns == RUN_COLUMNS
