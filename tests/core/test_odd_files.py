"""Files, each with one odd thing in it and named for it: with and without the core the same hits or the same error."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import cranfield.base.compiled
import cranfield.joining.parallel
import cranfield.joining.streaming
from cranfield import CranfieldError, Evaluator, InputError
from cranfield.base.options import ScoreType, Ties
from cranfield.joining import Joining

core = cranfield.base.compiled.core
if core is None:
    pytest.skip("the compiled core is not in use", allow_module_level=True)

ODD = Path(__file__).parent / "odd"
RUNS, QRELS = sorted(ODD.glob("*.run")), sorted(ODD.glob("*.qrels"))
PLAIN_RUN, PLAIN_QRELS = ODD / "plain.run", ODD / "plain.qrels"
MEASURES = ["AP", "nDCG@2", "Bpref", "NumRet"]
TIES = [ties for ties in get_args(Ties) if Joining(ties).is_streamable]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Any]]:
    """What an evaluation gives with the core and without it."""

    def evaluated(qrels: Path, run: Path, **options: Any) -> tuple[Any, Any]:
        with_core = outcome(qrels, run, **options)
        with monkeypatch.context() as patch:
            for name, module in list(sys.modules.items()):
                if name.startswith("cranfield.") and getattr(module, "core", None) is core:
                    patch.setattr(module, "core", None)
            return with_core, outcome(qrels, run, **options)

    return evaluated


def outcome(qrels: Path, run: Path, **options: Any) -> Any:
    """All that is known of a join, bit for bit, or the error with its place."""
    try:
        scored = Evaluator(qrels, MEASURES, **options).score(run)
    except InputError as error:
        return type(error), str(error), error.file, error.line
    except CranfieldError as error:
        return type(error), str(error)
    judged = scored.judged
    hits = (judged.starts, judged.rank, judged.grade, judged.doc, judged.tie_first, judged.tie_size)
    queries = (judged.retrieved, judged.missing, judged.tied_docs, judged.float32_tied_docs, judged.ideal)
    arrays = [np.asarray(column).tolist() for column in (*hits, *queries, scored.values)]
    return judged.queries, judged.only_in_run, scored.notes, arrays


def named(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_a_run_gives_the_same_hits_or_the_same_error(both: Any, run: Path) -> None:
    with_core, without = both(PLAIN_QRELS, run)
    assert with_core == without


@pytest.mark.parametrize("qrels", QRELS, ids=named)
def test_judgments_give_the_same_hits_or_the_same_error(both: Any, qrels: Path) -> None:
    with_core, without = both(qrels, PLAIN_RUN)
    assert with_core == without


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_ties_are_broken_alike(both: Any, run: Path) -> None:
    for ties in TIES:
        for score_type in get_args(ScoreType):
            with_core, without = both(PLAIN_QRELS, run, ties=ties, score_type=score_type)
            assert with_core == without, (ties, score_type)


@pytest.mark.parametrize(("stretch", "piece"), [(1, 1), (7, 4), (40, 13), (1000, 5)])
@pytest.mark.parametrize("run", [run for run in RUNS if run.stat().st_size < 500], ids=named)
def test_a_file_may_be_cut_anywhere(
    both: Any, monkeypatch: pytest.MonkeyPatch, run: Path, stretch: int, piece: int
) -> None:
    whole = outcome(PLAIN_QRELS, run)
    monkeypatch.setattr(cranfield.joining.parallel, "CHUNK", stretch)
    monkeypatch.setattr(cranfield.joining.parallel, "PIECE", piece)
    assert both(PLAIN_QRELS, run) == (whole, whole)


def test_every_kind_of_file_is_among_them() -> None:
    results = [outcome(PLAIN_QRELS, run) for run in RUNS] + [outcome(qrels, PLAIN_RUN) for qrels in QRELS]
    errors = [result for result in results if isinstance(result[0], type)]
    assert len(errors) >= 20 and len(results) - len(errors) >= 50
    assert any(line is not None for _, _, _, line in (error for error in errors if len(error) == 4))


def test_ids_made_to_share_their_hash_do_not() -> None:
    # 16 bytes of which the second half cancels what is known of the first; together they would take minutes
    rng, ids = random.Random(1), set[bytes]()
    known, wanted = 16 * 0xFF51AFD7ED558CCD % 2**64, rng.getrandbits(64)
    while len(ids) < 100_000:
        front = rng.randbytes(8)
        id = front + (wanted ^ _mixed(known ^ int.from_bytes(front, "little"))).to_bytes(8, "little")
        if len(id.split()) == 1 and len(id.split()[0]) == 16:
            ids.add(id)
    text = b"".join(b"1 Q0 %b 1 1 t\n" % id for id in ids)
    assert core.join_lines(core.Judgments(("1",), ({"a": 1.0},)), text, len(text), 2, False, True, True) is not None


def _mixed(word: int) -> int:
    """What the core's hash makes of the first eight bytes, without its seed."""
    word = word * 0x9FB21C651E98DF25 % 2**64
    word = (word ^ word >> 32) * 0xD6E8FEB86659FD93 % 2**64
    return word ^ word >> 29
