"""Vectors from files: what is read, what is refused, and that nothing is held that need not be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.errors import DuplicateError, InputError, MissingExtra
from cranfield.lab.vectors import as_vectors, checked_blocks, is_vectors, places, read_vectors

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def whole(vectors: Any, size: int = 2) -> list[list[float]]:
    return [row for _, block in vectors.blocks(size) for row in block.tolist()]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_npy_file_is_mapped_and_read_in_blocks(kind: str, order: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "docs.npy", np.array(ROWS, dtype=kind, order=order))
    vectors = read_vectors(tmp_path / "docs.npy")
    assert isinstance(vectors._array, np.memmap) and vectors.ids is None
    assert (len(vectors), vectors.dimension) == (3, 2) and whole(vectors) == ROWS
    assert vectors.rows(np.array([2, 0])).tolist() == [ROWS[2], ROWS[0]]


@pytest.mark.parametrize("beside", ["docs.ids.txt", "docs.ids"])
def test_ids_stand_beside_a_npy_file_one_a_line(beside: str, tmp_path: Path) -> None:
    np.save(tmp_path / "docs.npy", np.array(ROWS))
    (tmp_path / beside).write_bytes(b"b\r\ncaf\xe9\na b")
    assert read_vectors(tmp_path / "docs.npy").ids == ("b", "caf\udce9", "a b")


def arrow_table(kind: str, **more: Any) -> Any:
    pa = pytest.importorskip("pyarrow")
    inner = {"float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64()}[kind.partition(" ")[0]]
    column = pa.list_(inner, 2) if kind.endswith("fixed") else pa.large_list(inner) if "large" in kind else None
    rows = [[np.float16(v) for v in row] for row in ROWS] if kind.startswith("float16") else ROWS
    return pa.table({"docid": ["a", "b", "c"], "embedding": pa.array(rows, column or pa.list_(inner)), **more})


@pytest.mark.parametrize("kind", ["float16 fixed", "float32 fixed", "float64", "float32", "float32 large"])
def test_a_parquet_file_has_ids_and_lists(kind: str, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(arrow_table(kind), tmp_path / "docs.parquet", row_group_size=2)
    vectors = read_vectors(tmp_path / "docs.parquet")
    assert vectors.ids == ("a", "b", "c") and (len(vectors), vectors.dimension) == (3, 2)
    assert whole(vectors, 1) == whole(vectors, 7) == ROWS
    assert vectors.rows(np.array([2, 0, 2])).tolist() == [ROWS[2], ROWS[0], ROWS[2]]


def test_columns_of_a_parquet_file_are_told_by_name_or_by_being_the_only_one(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"n": [7, 8], "weights": [[1.0], [2.0]]}), tmp_path / "plain.parquet")
    assert read_vectors(tmp_path / "plain.parquet").ids == ("7", "8")
    two = {"title": ["x", "y"], "_id": ["d1", "d2"], "tags": [["t"], ["u"]], "vector": [[1.0], [2.0]]}
    pq.write_table(pa.table(two), tmp_path / "two.parquet")
    found = read_vectors(tmp_path / "two.parquet")
    assert found.ids == ("d1", "d2") and whole(found) == [[1.0], [2.0]]
    pq.write_table(pa.table({"vector": [[1.0], [2.0]]}), tmp_path / "none.parquet")
    assert read_vectors(tmp_path / "none.parquet").ids is None


def test_files_that_hold_no_vectors_are_refused(tmp_path: Path) -> None:
    for name, content, says in (
        ("flat.npy", np.ones(4), r"expected a table with a vector in each row, found an array of shape \(4,\)"),
        ("whole.npy", np.ones((2, 2), dtype=np.int64), "it holds int64, expected float16, float32, float64"),
        ("none.npy", np.ones((0, 3)), "there are no vectors in it"),
        ("narrow.npy", np.ones((3, 0)), "there are no vectors in it"),
        ("objects.npy", np.array([["a", 1]], dtype=object), "this .npy file cannot be used"),
    ):
        np.save(tmp_path / name, content)
        with pytest.raises(InputError, match=says) as caught:
            read_vectors(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
    np.save(tmp_path / "cut.npy", np.ones((50, 4)))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-9])
    (tmp_path / "text.npy").write_text("1 2 3")
    for name, says in (
        ("cut.npy", "cannot be used"),
        ("text.npy", "neither a .npy file"),
        ("absent.npy", "there is no such file"),
    ):
        with pytest.raises(InputError, match=says):
            read_vectors(tmp_path / name)


def test_parquet_files_that_hold_no_vectors_are_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    for name, columns, says in (
        ("flat", {"id": ["a"], "x": [1.0]}, "Of id, x, no column has lists"),
        ("many", {"id": ["a"], "x": [[1.0]], "y": [[1.0]]}, "none of x, y is called vector or embedding"),
        ("whole", {"id": ["a"], "vector": [[1]]}, "'vector' has lists of int64, expected float16"),
        ("noid", {"id": ["a", None], "vector": [[1.0], [1.0]]}, "column 'id': 1 id missing"),
        ("twice", {"id": ["a", "b", "a"], "vector": [[1.0]] * 3}, "1 id more than once: 'a'"),
        ("empty", {"id": pa.array([], pa.string()), "vector": pa.array([], pa.list_(pa.float32()))}, "no vectors"),
    ):
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        with pytest.raises(InputError, match=says):
            read_vectors(tmp_path / f"{name}.parquet")
    for name, rows, says in (
        ("ragged", [[1.0, 2.0], [1.0]], r"row 2 \('b'\) has a vector of 1 number, expected 2 as in the first"),
        ("null", [[1.0, 2.0], None], r"row 2 \('b'\) has no vector"),
        ("hole", [[1.0, 2.0], [1.0, None]], r"row 2 \('b'\) has a number missing"),
    ):
        pq.write_table(pa.table({"id": ["a", "b"], "vector": rows}), tmp_path / f"{name}.parquet")
        with pytest.raises(InputError, match=says):
            whole(read_vectors(tmp_path / f"{name}.parquet"))
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(InputError, match="this Parquet file cannot be read"):
        read_vectors(tmp_path / "text.parquet")


def test_parquet_needs_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"cranfield\[arrow\]"):
        read_vectors(tmp_path / "docs.parquet")


def test_ids_must_be_as_many_as_vectors_and_each_another(tmp_path: Path) -> None:
    np.save(tmp_path / "docs.npy", np.array(ROWS))
    (tmp_path / "docs.ids.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match="2 ids for 3 vectors"):
        read_vectors(tmp_path / "docs.npy")
    (tmp_path / "docs.ids.txt").write_text("a\nb\na\n")
    with pytest.raises(DuplicateError, match="1 id more than once: 'a'"):
        read_vectors(tmp_path / "docs.npy")
    (tmp_path / "docs.ids.txt").write_text("a\n\nb\n")
    with pytest.raises(InputError, match="docs.ids.txt, line 2: this line is blank"):
        read_vectors(tmp_path / "docs.npy")


def test_rows_that_are_no_vectors_are_counted_with_examples() -> None:
    rows = np.ones((9, 2))
    rows[[1, 3, 4, 5, 6, 7], [0, 1, 0, 1, 0, 1]] = [np.nan, np.inf, -np.inf, np.nan, 1e101, np.nan]
    rows[2] = 0
    vectors = as_vectors(rows, [f"d{i}" for i in range(9)])
    says = r"6 vectors with NaN, infinity or a number beyond 1e\+100 in it: row 2 \('d1'\), .* and 1 more"
    for size in (2, 100):
        with pytest.raises(InputError, match=says):
            list(checked_blocks(vectors, size))
    plain = as_vectors([[1.0, 0.0], [0.0, 0.0]])
    assert len(list(checked_blocks(plain, 1))) == 2
    with pytest.raises(InputError, match="1 vector of zeros only, which have no direction: .*: row 2"):
        list(checked_blocks(plain, 1, directions=True))


def test_vectors_are_matched_with_documents_by_id_or_by_order() -> None:
    ids = ["a", "b", "c"]
    assert places(as_vectors(ROWS), ids, "document").tolist() == [0, 1, 2]
    assert places(as_vectors(ROWS, ["c", "a", "b"]), ids, "document").tolist() == [2, 0, 1]
    with pytest.raises(InputError, match="3 vectors for 2 documents in x.index. Ids, one a line, in"):
        places(as_vectors(ROWS), ids[:2], "document", "x.index")
    says = "2 vectors of no document in x.index: 'x', 'y'; 2 documents in x.index without a vector: 'b', 'c'"
    with pytest.raises(InputError, match=says):
        places(as_vectors(ROWS, ["x", "a", "y"]), ids, "document", "x.index")


def test_a_file_of_vectors_is_known_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    assert is_vectors("a.NPY") and is_vectors("a.parquet") and not is_vectors("a.run")
    assert not is_vectors(str(tmp_path / "folder.npy"))


LIMITED = """
import resource, sys
import numpy as np
from cranfield.lab.dense import Space
from cranfield.lab.vectors import as_vectors, read_vectors

docs = read_vectors(sys.argv[1])
queries = as_vectors(np.eye(3, docs.dimension), ["1", "2", "3"])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
space = Space(tuple(map(str, range(len(docs)))), docs, np.arange(len(docs)), queries)
found = space.search(["1", "2", "3"], "cosine", 5)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, [docs.tolist() for docs, _ in found])
"""


def test_a_search_holds_blocks_of_a_file_and_not_the_file(tmp_path: Path) -> None:
    """100 MB in half precision, which would be 400 MB as they are compared."""
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(4)
    rows = rng.integers(-9, 10, (20_000, 64)).astype(np.float16)
    kind = pa.schema({"id": pa.string(), "vector": pa.list_(pa.float16(), 64)})
    with pq.ParquetWriter(tmp_path / "docs.parquet", kind, compression="none") as out:
        for part in range(40):
            column = pa.FixedSizeListArray.from_arrays(pa.array((rows + part).ravel()), 64)
            ids = pa.array([f"d{part}-{i}" for i in range(len(rows))])
            out.write_table(pa.Table.from_arrays([ids, column], schema=kind))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "docs.parquet")], capture_output=True, text=True, check=True
    )
    used = int(done.stdout.split()[0])
    assert used < 300_000, done.stdout  # kilobytes; all 800,000 vectors would take 410,000
