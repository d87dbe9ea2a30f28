"""The compiled core and its Python twin, on the same input: the same bits, or the same error with the same line."""

from __future__ import annotations

import gzip
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import cranfield.base.compiled
import cranfield.data.collection
import cranfield.io.runs_qrels
import cranfield.joining.judged_run
import cranfield.joining.parallel
import cranfield.joining.streaming
from cranfield import CranfieldError, Evaluator, InputError, read_qrels
from cranfield.base.options import ScoreType, Ties
from cranfield.joining import Joining
from cranfield.joining.streaming import join_lines
from tests.soak import examples
from tests.waiting import TIMEOUT, wait_until

core = cranfield.base.compiled.core
if core is None:
    pytest.skip("the compiled core is not in use", allow_module_level=True)

USERS = (
    cranfield.base.compiled,
    cranfield.data.collection,
    cranfield.io.runs_qrels,
    cranfield.joining.judged_run,
    cranfield.joining.streaming,
)
MEASURES = ["nDCG@3", "AP", "RR", "P@2", "Bpref", "NumRet", "R@5"]
SCORES = ["1", "2", "0.5", "-1", "1e-3", "+1.", ".5", "1e308", "5e-324", "0.1", "0.10", "1.0000000001", "-0", "1E2"]
ODD_SCORES = ["1e400", "nan", "inf", "0x10", "1_0", "", "1e", "--1", "1..2", "٣", "9" * 30, "0." + "1" * 400]
IDS = ["a", "b", "c", "d", "e", "f9", "é", "x" * 70, "D10", "D9", "#x"]
MORE = examples(100)


@pytest.fixture
def pure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Does something without the core."""

    def without(work: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patch:
            for module in USERS:
                patch.setattr(module, "core", None)
            return work()

    yield without


def outcome(qrels: Any, run: Any, **options: Any) -> Any:
    """All that comes out of an evaluation, or the error."""
    try:
        evaluator = Evaluator(qrels, MEASURES, **options)
        scored = evaluator.score(run, jobs=2)
    except CranfieldError as error:
        return type(error), str(error)
    judged = scored.judged
    columns = (judged.rank, judged.grade, judged.doc, judged.tie_first, judged.tie_size, judged.starts)
    per_query = (judged.retrieved, judged.missing, judged.tied_docs, judged.float32_tied_docs)
    arrays = tuple(np.asarray(column).tobytes() for column in (scored.values, *columns, *per_query))
    return scored.name, scored.notes, judged.queries, judged.only_in_run, arrays


@st.composite
def run_lines(draw: st.DrawFn, scores: list[str] = SCORES) -> bytes:
    gap = st.sampled_from([" ", "\t", "  ", " \t ", "\x0b", "\x0c"])
    lines = []
    for _ in range(draw(st.integers(0, 30))):
        query = draw(st.sampled_from(["1", "2", "10", "q-é", "none"]))
        fields = [
            query,
            "Q0",
            draw(st.sampled_from(IDS)),
            str(draw(st.integers(0, 99))),
            draw(st.sampled_from(scores)),
            "tag",
        ]
        line = "".join(field + draw(gap) for field in fields[:-1]) + fields[-1]
        lines.append(draw(st.sampled_from(["", "", "", " "])) + line + draw(st.sampled_from(["", "", "", " ", "\r"])))
        lines.extend(draw(st.lists(st.sampled_from(["", "   ", "# a comment", "\t#x y"]), max_size=1)))
    if draw(st.booleans()):
        lines.sort(key=lambda line: line.split()[:1])
    return "\n".join(lines).encode() + draw(st.sampled_from([b"\n", b"", b"\n\n"]))


@st.composite
def qrels_lines(draw: st.DrawFn) -> bytes:
    lines = []
    for query in draw(st.lists(st.sampled_from(["1", "2", "10", "q-é", "3"]), min_size=1, unique=True)):
        docs = draw(st.lists(st.sampled_from(IDS), min_size=1, unique=True))
        lines.extend(f"{query} 0 {doc} {draw(st.sampled_from(['0', '1', '2', '-1', '0.5', '1e0']))}" for doc in docs)
    if draw(st.booleans()):
        lines = draw(st.permutations(lines))
    return ("\n".join(lines) + "\n").encode()


conventions = st.fixed_dictionaries(
    {
        "ties": st.sampled_from([rule for rule in get_args(Ties) if rule != "expected"]),
        "score_type": st.sampled_from(get_args(ScoreType)),
        "missing": st.sampled_from(["zero", "skip", "error"]),
        "on_duplicate": st.sampled_from(["error", "error", "first", "last", "max"]),
    }
)


@MORE
@given(qrels_lines(), run_lines(), conventions)
@example(b"1 0 a 1\n", b"1 Q0 a 1 1 t\n1 Q0 b 1 1 t\n2 Q0 a 1 1 t\n1 Q0 c 1 1 t", {"ties": "trec"})
def test_files_give_the_same_bits(
    tmp_path_factory: Any, pure: Any, qrels: bytes, run: bytes, how: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("twins")
    (folder / "qrels").write_bytes(qrels)
    (folder / "run").write_bytes(run)
    work = lambda: outcome(folder / "qrels", folder / "run", **how)  # noqa: E731
    assert work() == pure(work)


@MORE
@given(run_lines(SCORES + ODD_SCORES), st.binary(max_size=40), st.integers(0, 400))
def test_wrong_files_give_the_same_error(tmp_path_factory: Any, pure: Any, run: bytes, noise: bytes, at: int) -> None:
    folder = tmp_path_factory.mktemp("twins")
    (folder / "qrels").write_bytes(b"1 0 a 1\n2 0 b 0\n2 0 a 2\n")
    (folder / "run").write_bytes(run[:at] + noise + run[at:])
    work = lambda: outcome(folder / "qrels", folder / "run")  # noqa: E731
    assert work() == pure(work)


@MORE
@given(qrels_lines(), st.binary(max_size=12), st.integers(0, 200))
def test_wrong_qrels_give_the_same_error(tmp_path_factory: Any, pure: Any, qrels: bytes, noise: bytes, at: int) -> None:
    path = tmp_path_factory.mktemp("twins") / "qrels"
    path.write_bytes(qrels[:at] + noise + qrels[at:])

    def work() -> Any:
        try:
            found = read_qrels(path)
        except CranfieldError as error:
            return str(error)
        columns = found.columns()
        return found.queries, columns, found.lines.tolist(), found.notes, found.ideal.tobytes(), found.origin

    def shown(result: Any) -> Any:
        return (
            result if isinstance(result, str) else (*result[:-1], result[-1].format, result[-1].why, result[-1].sha256)
        )

    assert shown(work()) == shown(pure(work))


scores = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-5, 5), st.sampled_from([1.0, 0.1]))
odd_values = st.one_of(st.sampled_from([float("nan"), True, "1.5", None, 10**400]), st.floats(width=32).map(np.float32))
dicts = st.dictionaries(
    st.sampled_from(["1", "2", "10", "é", "none"]),
    st.dictionaries(st.sampled_from([*IDS, "\u20ac", "\udcff"]), scores, max_size=12),
    max_size=5,
)


@MORE
@given(dicts, conventions)
def test_dicts_give_the_same_bits(pure: Any, run: Any, how: dict[str, Any]) -> None:
    qrels = {"1": {"a": 1, "b": 0, "\u20ac": 2}, "2": {"c": 2, "f9": 1}, "é": {"a": -1, "b": 1, "\udcff": 1}}
    work = lambda: outcome(qrels, run, **how)  # noqa: E731
    assert work() == pure(work)


@MORE
@given(dicts, st.sampled_from(["a", "", 7, None, b"a", "\ud800"]), odd_values)
def test_odd_dicts_give_the_same_error(pure: Any, run: Any, doc: Any, value: Any) -> None:
    run = {"1": {"a": 1.0}, **run, "2": {"b": 2.0, doc: value}}
    work = lambda: outcome({"1": {"a": 1}, "2": {"b": 1}}, run)  # noqa: E731
    assert work() == pure(work)


@MORE
@given(run_lines(), st.booleans(), st.booleans())
def test_a_block_of_lines_gives_the_same_parts(run: bytes, at_start: bool, at_end: bool) -> None:
    qrels = Evaluator({"1": {"a": 1, "b": 2}, "10": {"c": 1}}, ["AP"]).qrels
    assume(lines_are_together(run))
    found = core.join_lines(qrels.index, run, len(run), 0, False, at_start, at_end)
    twin = join_lines(qrels, Joining(), run, at_start, at_end)
    assert (found is None) == (twin is None)
    if found is not None and twin is not None:
        assert (found[0], found[1], found[2][-1]) == (twin[0], twin[1], twin[2].others)
        assert np.frombuffer(found[2][1], dtype=np.int64).tolist() == twin[2].hits.retrieved.tolist()


def lines_are_together(run: bytes) -> bool:
    queries = [line.split()[0] for line in run.split(b"\n") if line.strip() and not line.strip().startswith(b"#")]
    return len(list(groupby(queries))) == len(set(queries))


def numbers() -> Iterator[str]:
    rng = random.Random(4)
    for _ in range(20_000):
        yield repr(rng.uniform(-1000, 1000))
        yield f"{rng.getrandbits(rng.randint(1, 64))}e{rng.randint(-345, 300)}"
        yield f"{rng.random() * 10.0 ** rng.randint(-300, 300):.{rng.randint(0, 20)}e}"
        yield str(2 * (rng.getrandbits(52) | 1 << 52) + 1)  # half way between two doubles


def test_numbers_are_rounded_correctly() -> None:
    tokens = [token for token in numbers() if abs(float(token)) < float("inf")]
    text = "".join(f"{i} 0 d {token}\n" for i, token in enumerate(tokens)).encode()
    grades = np.frombuffer(core.read_judgments(text).columns()[1])
    assert grades.tobytes() == np.array([float(token) for token in tokens]).tobytes()


@pytest.fixture
def long_run(tmp_path: Path) -> tuple[Path, Path]:
    """A run of many stretches and pieces, once the tests make those small."""
    rng = random.Random(5)
    lines, judged = [], []
    for query in range(60):
        for rank in range(rng.choice([1, 3, 40, 400])):
            lines.append(f"{query} Q0 d{rank} {rank} {rng.choice([5, 4.5, -rank])} tag\n")
        judged.append(f"{query} 0 d{rng.randint(0, 50)} 1\n{query} 0 d{rng.randint(51, 60)} 2\n")
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("".join(judged))
    run.write_text("".join(lines))
    return qrels, run


@pytest.mark.parametrize(("stretch", "piece"), [(1 << 20, 1 << 16), (4096, 1024), (700, 64), (97, 16)])
@pytest.mark.parametrize("jobs", [1, 3])
def test_it_does_not_matter_how_a_file_is_cut(
    long_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, pure: Any, stretch: int, piece: int, jobs: int
) -> None:
    qrels, run = long_run
    whole = pure(lambda: outcome(qrels, run))
    monkeypatch.setattr(cranfield.joining.parallel, "CHUNK", stretch)
    monkeypatch.setattr(cranfield.joining.parallel, "PIECE", piece)
    assert outcome(qrels, run) == whole
    (packed := run.with_suffix(".gz")).write_bytes(gzip.compress(run.read_bytes()))
    assert outcome(qrels, packed)[1:] == whole[1:]
    assert pure(lambda: outcome(qrels, run)) == whole


def test_a_run_with_lines_apart_is_put_together(long_run: tuple[Path, Path]) -> None:
    qrels, run = long_run
    together = outcome(qrels, run)
    lines = run.read_text().splitlines(keepends=True)
    random.Random(6).shuffle(lines)
    run.write_text("".join(lines))
    assert outcome(qrels, run) == together


def test_a_run_that_does_not_fit_into_memory_is_refused(
    long_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, run = long_run
    run.write_text(run.read_text() + "0 Q0 again 1 1 tag\n")
    monkeypatch.setattr(cranfield.joining.streaming, "_free_memory", lambda: 1000)
    with pytest.raises(InputError, match="the lines of some query are not together.*sort -s -k1,1"):
        Evaluator(qrels, ["AP"]).score(run)


def test_threads_are_joined_also_after_an_error(long_run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, run = long_run
    before = set(threading.enumerate())  # a browser or a server of another test may have left some
    monkeypatch.setattr(cranfield.joining.parallel, "CHUNK", 500)
    run.write_text(run.read_text() + "0 Q0 d 1 one tag\n")
    with pytest.raises(InputError, match="score 'one' is not a decimal number"):
        Evaluator(qrels, ["AP"]).score(run, jobs=4)
    assert set(threading.enumerate()) <= before


def test_evaluating_in_a_stream_takes_little_memory(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with run.open("w") as file:
        for query in range(3000):
            file.writelines(f"{query} Q0 document-{query}-{rank} {rank} {-rank} tag\n" for rank in range(500))
    (tmp_path / "qrels").write_text("".join(f"{query} 0 document-{query}-7 1\n" for query in range(3000)))
    program = (
        "import resource, sys; from cranfield import Evaluator; evaluator = Evaluator(sys.argv[1], ['AP'])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; evaluator.score(sys.argv[2], jobs=2)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    out = subprocess.run([sys.executable, "-c", program, tmp_path / "qrels", run], check=True, capture_output=True)
    assert int(out.stdout) * 1024 < run.stat().st_size / 3


def test_the_joiner_reads_a_pipe_twice_if_it_must(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    program = (
        "import sys; from cranfield import Evaluator; print(Evaluator(sys.argv[1], ['AP']).score('-').values.sum())"
    )
    command = [sys.executable, "-c", program, tmp_path / "qrels"]
    apart = b"1 Q0 a 1 1 t\n2 Q0 b 1 1 t\n1 Q0 c 2 0 t\n"
    assert subprocess.run(command, input=apart, check=True, capture_output=True).stdout == b"2.0\n"
    odd = b"1 Q0 a 1 1 t more\n2 Q0 b 1 1 t\n"
    assert subprocess.run(command, input=odd, check=True, capture_output=True).stdout == b"2.0\n"


def test_an_id_that_begins_like_json_is_taken_for_json_by_both(tmp_path: Path, pure: Any) -> None:
    (tmp_path / "qrels").write_text("{x 0 d1 1\n")
    (tmp_path / "run").write_text("{x Q0 d1 1 1 t\n")
    work = lambda: outcome(tmp_path / "qrels", tmp_path / "run")  # noqa: E731
    assert work() == pure(work)


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n", b"# nothing\n"])
def test_an_empty_run_is_an_error_also_when_its_format_is_told(tmp_path: Path, pure: Any, content: bytes) -> None:
    (tmp_path / "run").write_bytes(content)

    def work() -> Any:
        with pytest.raises(InputError, match="no document in this run") as error:
            Evaluator({"1": {"a": 1}}, ["AP"]).score(tmp_path / "run", format="trec")
        return str(error.value)

    assert work() == pure(work)


def test_of_many_runs_only_what_is_needed_is_kept(long_run: tuple[Path, Path]) -> None:
    qrels, run = long_run
    for options in ({}, {"ties": "rank-column"}):
        evaluator = Evaluator(qrels, ["AP"], **options)  # type: ignore[arg-type]
        scored = list(evaluator.score_files([run, run]))
        assert all("run" not in one.judged.sources.__dict__ and one.judged.depth <= 10 for one in scored)
        assert np.array_equal(scored[0].values, evaluator.score(run).values)
        assert evaluator.scores(scored[:1]).unjudged() == evaluator.scores([evaluator.score(run)]).unjudged()


def files_open_in(pid: int) -> set[str]:
    """The names of the files that a process has open, on Linux."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            found.add(link.readlink().name)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which files are open")
def test_a_run_can_be_interrupted(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("".join(f"{query} 0 d1 1\n" for query in range(2000)))
    with (tmp_path / "run").open("w") as file:
        for query in range(2000):
            file.writelines(f"{query} Q0 d{rank} {rank} {-rank} tag\n" for rank in range(300))
    files = [tmp_path / "qrels", *[tmp_path / "run"] * 30]
    command = [sys.executable, "-m", "cranfield", "eval", *map(str, files), "--ties", "rank-column", "--format", "tsv"]
    # what is started in the background by a shell ignores the signal, and so would its children
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=listen)
    wait_until(lambda: process.poll() is not None or "run" in files_open_in(process.pid))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, errors.strip()) == (130, "cranfield: interrupted.")
