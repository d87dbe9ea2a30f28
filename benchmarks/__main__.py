"""Measure this package and its peers on the same work, in turns, and write down what was found.

What counts is the ratio within one go: all tools read every per-query value of six measures from the same files or
dicts, one after the other and round again, and their values are checked to be the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.contenders import MEASURES, Contender, cranfield, installed, peer, peers
from benchmarks.machine import machine
from benchmarks.measuring import take_turns
from benchmarks.plot import svg
from benchmarks.results import DICTS, FILES, MANY, START, US, Row, check_agreement, markdown, row_of
from benchmarks.search import measure_and_tell
from benchmarks.workloads import WORKLOADS, Files, files_of, make_workloads

ROOT = Path(__file__).parent.parent
RESULTS, PAGE, PICTURE = ROOT / "benchmarks/results.md", ROOT / "docs/speed.md", ROOT / "docs/speed.svg"
BEGIN, END = "<!-- written by make bench -->", "<!-- end -->"
PACKAGES = ("pytrec_eval-terrier", "ir_measures", "ranx", "numpy")
SIX = list(MEASURES)
SEARCH = "S"  # our index beside bm25s


def main() -> None:
    options = _options()
    if SEARCH in options.workloads:
        measure_and_tell(options.repeat)
        options.workloads = options.workloads.replace(SEARCH, "")
    if options.workloads:
        _evaluation(options)


def _evaluation(options: argparse.Namespace) -> None:
    """Everything about evaluating runs."""
    make_workloads(options.folder, sorted({*options.workloads, "D"}))
    files = {name: files_of(WORKLOADS[name], options.folder) for name in sorted({*options.workloads, "D"})}
    _warm_up(files["D"])
    rows: list[Row] = []
    for row in _measure(files, options.workloads, options.repeat, options.patience):
        rows.append(row)
        _say(f"{row.group}, {row.workload}: {row.tool} {row.median:.3g} s")
    told = markdown(rows, {name: files[name].size for name in options.workloads}, machine(PACKAGES))
    print(told)
    if set(options.workloads) == set(WORKLOADS):
        _write(rows, told)
    else:
        _say("Not written down: only a go with all workloads is.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--workloads", default="ABCDES", type=_workloads, help="which of A to E, and S for searching")
    parser.add_argument("--repeat", type=int, default=5, help="turns of each tool, after one to warm up")
    parser.add_argument("--patience", type=float, default=15, help="seconds after which a tool gets no further turn")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/benchmarks", help="where the workloads are kept")
    return parser.parse_args()


def _workloads(text: str) -> str:
    known = [*WORKLOADS, SEARCH]
    if not text or set(text) - set(known):
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(known)}, found {text!r}")
    return "".join(sorted(set(text)))


def _warm_up(tiny: Files) -> None:
    """Start each tool once, so that byte code, and ranx's machine code, is there."""
    for contender in (cranfield(US, tiny, SIX), *peers(tiny)):
        contender.measure()


def _measure(files: dict[str, Files], workloads: str, repeat: int, patience: float) -> Iterator[Row]:
    yield from _start_up(files["D"], max(repeat, 10), patience)
    for name in workloads:
        if name in "ABC":
            yield from _in_turns(FILES, name, _from_files(name, files[name]), repeat, patience)
        if name in "ABCD":
            yield from _from_dicts(name, files[name], repeat, patience)
        if name == "E":
            contenders = [cranfield(US, files[name], SIX), *_pytrec_eval(files[name])]
            yield from _in_turns(MANY, name, contenders, repeat, patience)


def _start_up(tiny: Files, repeat: int, patience: float) -> Iterator[Row]:
    contenders = [
        cranfield(US, tiny, SIX),
        Contender("python -c pass", [sys.executable, "-c", "pass"]),
        Contender("import numpy", [sys.executable, "-c", "import numpy"]),
        *_pytrec_eval(tiny),
    ]
    return _in_turns(START, "D", contenders, repeat, patience)


def _from_files(name: str, files: Files) -> Iterator[Contender]:
    yield cranfield(US, files, SIX)
    if name == "A":
        yield cranfield(f"{US}, all_trec", files, ["all_trec"])
        yield Contender("wc -l", ["wc", "-l", str(files.runs[0])])
    else:
        yield cranfield(f"{US}, no core", files, SIX, pure=True)
    yield from peers(files)


def _pytrec_eval(files: Files) -> list[Contender]:
    return [peer("pytrec_eval", files)] if "pytrec_eval" in installed() else []


def _in_turns(
    group: str, name: str, contenders: Sequence[Contender] | Iterator[Contender], repeat: int, patience: float
) -> Iterator[Row]:
    """Rows of processes that take turns."""
    _say(f"{group}, {name} …")
    by_name = {contender.name: contender for contender in contenders}
    taken = take_turns({tool: contender.measure for tool, contender in by_name.items()}, repeat, patience)
    check_agreement(name, {tool: contender.sums for tool, contender in by_name.items() if contender.sums})
    for tool, measurements in taken.items():
        yield row_of(group, name, tool, measurements)


def _from_dicts(name: str, files: Files, repeat: int, patience: float) -> Iterator[Row]:
    """Rows of calls that take turns in one process."""
    _say(f"{DICTS}, {name} …")
    arguments = [str(files.qrels), str(files.runs[0]), str(repeat), str(patience)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.dicts", *arguments], check=True, stdout=subprocess.PIPE, cwd=ROOT
    )
    found = json.loads(done.stdout)
    check_agreement(name, {tool: of_tool["sums"] for tool, of_tool in found.items()})
    for tool, of_tool in found.items():
        yield Row(DICTS, name, tool, tuple(of_tool["seconds"]))


def _write(rows: Sequence[Row], told: str) -> None:
    """Put the tables in their file and in the docs, and the picture beside them."""
    RESULTS.write_text(
        f"# Speed\n\nWritten by `make bench`; what is measured and how is said in docs/speed.md.\n\n{told}"
    )
    PICTURE.write_text(svg(rows))
    if PAGE.exists():
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{told}\n{END}{rest.partition(END)[2]}")
    _say(f"Written: {', '.join(str(path.relative_to(ROOT)) for path in (RESULTS, PAGE, PICTURE))}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
