"""Who takes part from files: the command of each tool, and how to read what it prints."""

from __future__ import annotations

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from benchmarks.measuring import Measurement, Sums, measure_process
from benchmarks.workloads import Files

MEASURES = {  # ours, and trec_eval's -m and printed name
    "nDCG@10": ("ndcg_cut.10", "ndcg_cut_10"),
    "AP": ("map", "map"),
    "RR": ("recip_rank", "recip_rank"),
    "P@10": ("P.10", "P_10"),
    "R@100": ("recall.100", "recall_100"),
    "Bpref": ("bpref", "bpref"),
}
PEERS = ("pytrec_eval", "ir_measures", "ranx")
TOOLS = Path(__file__).parent / "tools"


@dataclass
class Contender:
    """A command that evaluates files; what it prints is read the first time only, and afterwards thrown away."""

    name: str
    command: list[str]
    reads: str = ""  # a key of READERS, where what is printed is to be checked
    environment: Mapping[str, str] = field(default_factory=dict)
    sums: Sums = field(default_factory=dict)

    def measure(self) -> Measurement:
        read = READERS[self.reads] if self.reads and not self.sums else None
        measurement = measure_process(self.command, self.environment, read)
        self.sums = self.sums or measurement.sums
        return measurement


def cranfield(name: str, files: Files, measures: list[str], pure: bool = False) -> Contender:
    """Our command."""
    asked = [part for measure in measures for part in ("-m", measure)]
    script = str(Path(sys.executable).parent / "cranfield")
    command = [script, "eval", str(files.qrels), *map(str, files.runs), *asked, "-q", "--format", "tsv", "--quiet"]
    reads = "cranfield" if measures == list(MEASURES) else ""
    return Contender(name, command, reads, {"CRANFIELD_PURE": "1" if pure else ""})


def peer(name: str, files: Files) -> Contender:
    """A Python package, in a fresh process."""
    script = str(TOOLS / f"with_{name}.py")
    return Contender(name, [sys.executable, script, str(files.qrels), *map(str, files.runs)], "peer")


def peers(files: Files) -> Iterator[Contender]:
    """The tools that are installed, and trec_eval where it is in the path."""
    yield from (peer(name, files) for name in installed())
    if found := shutil.which("trec_eval"):
        asked = [part for name, _ in MEASURES.values() for part in ("-m", name)]
        yield Contender("trec_eval", [found, "-q", *asked, str(files.qrels), str(files.runs[0])], "trec_eval")


def installed() -> list[str]:
    """The peers that can be imported."""
    return [name for name in PEERS if find_spec(name)]


def sums_of_tsv(printed: str) -> Sums:
    """The sums of what `cranfield eval -q --format tsv` prints."""
    sums: defaultdict[str, float] = defaultdict(float)
    for line in printed.splitlines():
        _, measure, query, value = line.split("\t")
        if query != "all":
            sums[measure] += float(value)
    return sums


def sums_of_trec_eval(printed: str) -> Sums:
    """The sums of what `trec_eval -q` prints."""
    ours = {theirs: name for name, (_, theirs) in MEASURES.items()}
    sums: defaultdict[str, float] = defaultdict(float)
    for line in printed.splitlines():
        measure, query, value = line.split()
        if query != "all":
            sums[ours[measure]] += float(value)
    return sums


READERS: dict[str, Callable[[str], Sums]] = {
    "cranfield": sums_of_tsv,
    "trec_eval": sums_of_trec_eval,
    "peer": json.loads,
}
