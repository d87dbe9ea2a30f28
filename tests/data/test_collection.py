"""Run and Qrels: checked once when made, grouped by query, shown and handed on."""

from __future__ import annotations

import pickle
import random
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.ids import encode_id, format_id, sort_naturally
from cranfield.data.collection import Origin, Qrels, Run
from cranfield.errors import CranfieldError, DuplicateError, InputError

ROWS = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from("abcd"), st.integers(-3, 3)), unique_by=lambda row: row[:2]
)


def run(**options: object) -> Run:
    return Run.from_rows(["q2", "q1", "q2"], ["a", "b", "c"], [1.0, 2.0, 3.0], **options)  # type: ignore[arg-type]


def test_rows_are_grouped_by_query_and_keep_their_order() -> None:
    made = run(ranks=np.array([1, 1, 2]), lines=np.array([10, 20, 30]))
    assert made.queries == ("q2", "q1")
    assert made.docs.tolist() == ["a", "c", "b"]
    assert made.scores.tolist() == [1.0, 3.0, 2.0]
    assert made.ranks is not None and made.ranks.tolist() == [1, 2, 1]
    assert made.lines is not None and made.lines.tolist() == [10, 30, 20]
    assert made.row_queries() == ["q2", "q2", "q1"]
    assert made.docs[made.rows_of(1)].tolist() == ["b"]
    assert made.position == {"q2": 0, "q1": 1}


def test_queries_of_qrels_are_in_natural_order() -> None:
    qrels = Qrels.from_rows(["q10", "q9", "q1"], ["a", "b", "c"], [1, 2, 3], empty_queries=["q2"])
    assert qrels.queries == ("q1", "q2", "q9", "q10")
    assert qrels.to_dict() == {"q1": {"c": 3.0}, "q2": {}, "q9": {"b": 2.0}, "q10": {"a": 1.0}}


@given(ROWS)
def test_no_row_is_lost_in_grouping(rows: list[tuple[str, str, int]]) -> None:
    queries, docs, values = ([row[i] for row in rows] for i in range(3))
    nested: dict[str, dict[str, float]] = {}
    for query, doc, value in rows:
        nested.setdefault(query, {})[doc] = float(value)
    assert Run.from_rows(queries, docs, values).to_dict() == nested
    assert Qrels.from_rows(queries, docs, values).to_dict() == nested


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing_but_order(
    rows: list[tuple[str, str, int]], generator: random.Random
) -> None:
    shuffled = rows.copy()
    generator.shuffle(shuffled)
    first, second = (
        Run.from_rows(*([row[i] for row in table] for i in range(3))).to_dict()  # type: ignore[arg-type]
        for table in (rows, shuffled)
    )
    assert first == second


@pytest.mark.parametrize(
    ("docs", "scores", "options", "message"),
    [
        (["a"], [1.0, 2.0], {}, "2 queries but 1 docs"),
        (["a", "b"], [1.0, 2.0, 3.0], {}, "2 queries but 3 scores"),
        (["a", "b"], [1.0, 2.0], {"ranks": np.array([1])}, "2 queries but 1 ranks"),
        (["a", "b"], [1.0, 2.0], {"lines": np.array([1, 2, 3])}, "2 queries but 3 lines"),
        (["a", "b"], [1.0, float("nan")], {}, "record 2: score nan is not a finite number"),
        (["a", "b"], [float("inf"), 1.0], {}, "record 1: score inf is not a finite number"),
        (["a", "b"], [1.0, 2.0], {"on_duplicate": "any"}, "on_duplicate is 'any', expected one of error, first"),
    ],
)
def test_a_run_is_checked_when_made(docs: list[str], scores: list[float], options: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Run.from_rows(["q", "q"], docs, scores, **options)  # type: ignore[arg-type]


def test_qrels_are_checked_when_made() -> None:
    with pytest.raises(InputError, match="1 queries but 2 grades"):
        Qrels.from_rows(["q"], ["a"], [1, 2])
    with pytest.raises(InputError, match="1 queries but 2 subtopics"):
        Qrels.from_rows(["q"], ["a"], [1], subtopics=["1", "2"])
    with pytest.raises(InputError, match="1 queries but 2 stratum"):
        Qrels.from_rows(["q"], ["a"], [1], extra={"stratum": ["1", "2"]})
    with pytest.raises(InputError, match="record 1: grade nan is not a finite number"):
        Qrels.from_rows(["q"], ["a"], [float("nan")])


def test_values_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        run().name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(("rule", "kept"), [("first", [5.0, 1.0]), ("last", [1.0, 4.0]), ("max", [1.0, 9.0])])
def test_of_repeated_documents_one_row_stays(rule: str, kept: list[float]) -> None:
    made = Run.from_rows(["q"] * 4, ["a", "b", "a", "a"], [5.0, 1.0, 9.0, 4.0], on_duplicate=rule)  # type: ignore[arg-type]
    assert made.scores.tolist() == kept
    assert made.notes == (f"2 repeated documents left out (--on-duplicate {rule}).",)


def test_a_duplicate_names_file_and_lines_or_records() -> None:
    rows = (["q", "q"], ["a", "a"], [1.0, 2.0])
    numbers = np.array([12, 34])
    with pytest.raises(DuplicateError, match=r"^x\.run, line 34: .* first in line 12\.") as caught:
        Run.from_rows(*rows, lines=numbers, origin=Origin("x.run", "trec", "", ""))
    assert (caught.value.file, caught.value.line) == ("x.run", 34)
    with pytest.raises(DuplicateError, match=r"^x\.json: record 34: .* first in record 12\.") as caught:
        Run.from_rows(*rows, lines=numbers, origin=Origin("x.json", "json", "", ""))
    assert (caught.value.file, caught.value.line) == ("x.json", None)
    with pytest.raises(DuplicateError, match=r"^record 2: .* first in record 1\."):
        Run.from_rows(*rows)


def test_judged_twice_is_an_error_only_when_the_grades_differ() -> None:
    same = Qrels.from_rows(["q"] * 3, ["a", "a", "b"], [1, 1, 0])
    assert len(same) == 2
    assert same.notes == ("1 repeated judgment left out (identical).",)
    with pytest.raises(DuplicateError, match="with grades 1 and 2"):
        Qrels.from_rows(["q"] * 2, ["a", "a"], [1, 2])
    apart = Qrels.from_rows(["q"] * 2, ["a", "a"], [1, 2], subtopics=["1", "2"])
    assert (len(apart), apart.merged, apart.has_subtopics, apart.notes) == (2, 1, True, ())
    assert apart.to_dict() == {"q": {"a": 2.0}}


def test_preferences_are_told_apart_by_subgroup() -> None:
    extra = {"subgroup": ["s1", "s2"]}
    assert len(Qrels.from_rows(["q"] * 2, ["a", "a"], [1, 2], extra=extra)) == 2


def test_columns_hold_subtopics_only_where_there_are_some() -> None:
    assert list(Qrels.from_rows(["q"], ["a"], [1], subtopics=["Q0"]).columns()) == ["query", "doc", "grade"]
    assert "subtopic" in Qrels.from_rows(["q"], ["a"], [1], subtopics=["1"]).columns()
    assert list(run().columns()) == ["query", "doc", "score"]
    assert list(run(ranks=np.array([1, 1, 2])).columns()) == ["query", "doc", "score", "rank"]


def test_natural_order_has_no_limit_and_is_total() -> None:
    huge = "q" + "9" * 6000
    assert sort_naturally([huge, "q10", "q9", "q09", "q", "", "\udcff"]) == [
        "",
        "q",
        "q09",
        "q9",
        "q10",
        huge,
        "\udcff",
    ]
    ids = ["1", "01", "a1b2", "a1b10", "2", "10", "b"]
    generator = random.Random(5)
    for _ in range(10):
        assert sort_naturally(generator.sample(ids, len(ids))) == sort_naturally(ids)


def test_ids_are_bytes_and_shown_safely() -> None:
    assert encode_id("d\udcff\u00e9") == b"d\xff\xc3\xa9"
    assert format_id("d\udcff\x1b").encode()


def test_a_repr_says_what_there_is() -> None:
    assert repr(run(name="bm25")) == "Run('bm25': 2 queries, 3 documents)"
    assert repr(Qrels.from_rows(["q"], ["a"], [1])) == "Qrels('qrels': 1 query, 1 judgment)"


def test_a_notebook_shows_the_first_rows_and_escapes_ids() -> None:
    docs = ["<b>&\udcff", *(f"d{i}" for i in range(24))]
    page = Run.from_rows(["q"] * 25, docs, np.arange(25.0), name="<i>")._repr_html_()
    assert "&lt;b&gt;&amp;\\udcff" in page
    assert "<b>" not in page and "<i>" not in page
    assert page.count("<tr>") == 11
    assert "… and 15 more rows" in page
    assert page.encode()


def test_frames_hold_the_rows() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    made = run(ranks=np.array([1, 1, 2]))
    expected = {"query": ["q2", "q2", "q1"], "doc": ["a", "c", "b"], "score": [1.0, 3.0, 2.0], "rank": [1, 2, 1]}
    assert made.to_pandas().equals(pandas.DataFrame(expected))
    assert made.to_polars().equals(polars.DataFrame(expected))
    assert made.to_arrow().equals(pyarrow.table(expected))


@pytest.mark.parametrize("convert", ["to_arrow", "to_polars"])
def test_ids_that_a_frame_cannot_hold_are_an_error(convert: str) -> None:
    pytest.importorskip({"to_arrow": "pyarrow", "to_polars": "polars"}[convert])
    made = Run.from_rows(["q"], ["d\udcff"], [1.0])
    with pytest.raises(InputError, match="holds only UTF-8"):
        getattr(made, convert)()


def test_an_error_survives_pickling() -> None:
    error = DuplicateError("twice.", "x.run", 3)
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.file, back.line) == ("x.run, line 3: twice.", "x.run", 3)


@pytest.mark.parametrize(
    ("convert", "module", "advice"),
    [("to_arrow", "pyarrow", "cranfield"), ("to_pandas", "pandas", "pandas"), ("to_polars", "polars", "polars")],
)
def test_a_frame_that_cannot_be_made_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, convert: str, module: str, advice: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CranfieldError, match=f"pip install '?{advice}"):
        getattr(run(), convert)()


def test_the_columns_of_a_run_and_of_qrels_cannot_be_written_to() -> None:
    scores = np.array([2.0, 1.0])
    run = Run.from_rows(["q", "q"], ["a", "b"], scores, ranks=np.array([1, 2]))
    qrels = Qrels.from_rows(["q", "q"], ["a", "b"], [1, 0], extra={"stratum": ["1", "2"]})
    unpickled = pickle.loads(pickle.dumps(qrels))
    for made in (run, run.of("q"), run.renamed("x"), qrels, qrels.of("q"), unpickled):
        columns = [made.starts, *(getattr(made, name) for name in made.row_columns)]
        for column in [*columns, *(made.extra.values() if isinstance(made, Qrels) else ())]:
            with pytest.raises(ValueError, match="read-only"):
                column[0] = column[1]
    scores[0] = 9.0
    assert run.to_dict() == {"q": {"a": 2.0, "b": 1.0}}


def test_making_a_run_by_hand_leaves_its_columns_alone() -> None:
    starts, docs, scores = np.array([0, 1]), np.array(["a"], dtype=object), np.array([1.0])
    run = Run("x", ("q",), starts, docs, scores)
    scores[0] = 2.0
    assert not run.scores.flags.writeable
