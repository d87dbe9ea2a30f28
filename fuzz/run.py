"""Fuzz the compiled core on files and on dicts: `make fuzz`, or `python fuzz/run.py --help`.

A target is a module of this folder with `execute(view)`; name it in TARGETS to add one.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

TARGETS = ("files", "dicts", "arrays", "postings")
ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "fuzz"
FUZZER = BUILD / "fuzzer"
NEEDED = ("clang", "llvm-profdata", "llvm-cov")


def main() -> None:
    """Build, run every target, and say what was reached."""
    options = _options()
    require_tools()
    build()
    if options.replay:
        sys.exit(replay(Path(options.replay)))
    failed = [target for target in options.targets if not run(target, options.seconds, options.runs)]
    show_coverage(options.targets)
    if failed:
        sys.exit(f"failed on {' and '.join(failed)}: python fuzz/run.py --replay {BUILD}/{failed[0]}-…")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz the compiled core.")
    parser.add_argument("targets", nargs="*", default=TARGETS, help=f"some of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=-1, help="stop after that many executions of a target")
    parser.add_argument(
        "--replay", metavar="FILE", help="run an input that failed, build/fuzz/TARGET-…, and nothing else"
    )
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"unknown target {', '.join(sorted(unknown))}: expected some of {', '.join(TARGETS)}")
    return options


def require_tools() -> None:
    """Stop with what to install."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        sys.exit(
            f"make fuzz needs {', '.join(missing)}: not found on PATH. On Debian or Ubuntu: "
            "apt-get install clang libclang-rt-dev llvm."
        )
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        sys.exit("make fuzz needs a Python with a shared library (libpython3.x.so), which this one was built without.")


def build() -> None:
    """Core and harness as one executable, with sanitizers, libFuzzer's counters and those of line coverage."""
    BUILD.mkdir(parents=True, exist_ok=True)
    checks = "-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined".split()
    flags = "-g -O1 -fno-omit-frame-pointer -fprofile-instr-generate -fcoverage-mapping".split() + checks
    include = f"-I{sysconfig.get_config_var('INCLUDEPY')}"
    failing = "-Drealloc=harness_realloc -Dcalloc=harness_calloc".split()
    library = sysconfig.get_config_var("LIBDIR")
    python = f"-l{sysconfig.get_config_var('LDLIBRARY').removeprefix('lib').removesuffix('.so')}"
    compile = ["clang", *flags, include, "-c"]
    _call(*compile, *failing, ROOT / "src/core/module.c", "-o", BUILD / "core.o")
    _call(*compile, ROOT / "fuzz/harness.c", "-o", BUILD / "harness.o")
    objects = [BUILD / "core.o", BUILD / "harness.o"]
    _call("clang", *flags, *objects, f"-L{library}", f"-Wl,-rpath,{library}", python, "-lm", "-o", FUZZER)


def run(target: str, seconds: int, runs: int) -> bool:
    """Let libFuzzer work on a target; whether it found nothing."""
    corpus = BUILD / f"corpus-{target}"
    corpus.mkdir(exist_ok=True)
    put_seeds(target, corpus)
    arguments = [
        f"-max_total_time={seconds}",
        f"-runs={runs}",
        f"-artifact_prefix={BUILD}/{target}-",
        "-max_len=1024",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-detect_leaks=0",  # at the end instead, as a search takes as long as a hundred executions
        "-print_final_stats=1",
    ]
    if target == "files":
        arguments.append(f"-dict={ROOT / 'fuzz' / 'trec.dict'}")
    log = BUILD / f"{target}.log"
    with log.open("w") as out:
        done = subprocess.run([FUZZER, *arguments, corpus], env=_environment(target), stderr=out, stdout=out)
    said = log.read_text(errors="replace")
    print(
        f"{target}: {_stat(said, 'number_of_executed_units'):,} executions, {len(list(corpus.iterdir())):,} inputs kept"
    )
    if done.returncode:
        print("".join(said.splitlines(keepends=True)[-60:]))
    return done.returncode == 0


def replay(path: Path) -> int:
    """Run one input, whose name begins with that of its target."""
    return subprocess.call([FUZZER, path], env=_environment(path.name.split("-")[0]))


def put_seeds(target: str, corpus: Path) -> None:
    """Something to begin with: the odd files of the tests, or instructions at random."""
    odd = ROOT / "tests" / "core" / "odd"
    if target == "files":
        pairs = [(path.read_bytes(), b"1 0 a 1 2 t\n") for path in sorted(odd.glob("*.qrels"))]
        pairs += [(b"1 0 a 1\n1 0 b 0\n", path.read_bytes()) for path in sorted(odd.glob("*.run"))]
        seeds = [b"\xc0\xff\xff%b%%%%\n%b" % pair for pair in pairs]
    else:
        rng = random.Random(1)
        seeds = [b"\xc0\xff\0" + rng.randbytes(rng.randrange(100)) for _ in range(100)]
    for i, seed in enumerate(seeds):
        (corpus / f"seed-{i}").write_bytes(seed)


def show_coverage(targets: list[str]) -> None:
    """Lines of the C sources that were executed, by all targets together."""
    profiles = [path for target in targets if (path := BUILD / f"{target}.profraw").exists()]
    if not profiles:
        return
    merged = BUILD / "all.profdata"
    _call("llvm-profdata", "merge", *profiles, "-o", merged)
    core = str(ROOT / "src" / "core")
    report = subprocess.check_output(["llvm-cov", "report", FUZZER, f"-instr-profile={merged}", core], text=True)
    print("lines covered:")
    for line in report.splitlines():
        if re.match(r"\S+\.[ch] |TOTAL ", line):
            name, *columns = line.split()
            print(f"  {Path(name).name:12} {columns[8]:>8}")  # after regions and functions: lines, missed, covered
    print(f"line by line: llvm-cov show {FUZZER} -instr-profile={merged} src/core")


def _environment(target: str) -> dict[str, str]:
    return os.environ | {
        "FUZZ_TARGET": target,
        "FUZZ_PYTHON": sys.executable,
        "LLVM_PROFILE_FILE": str(BUILD / f"{target}.profraw"),
        "PYTHONPATH": str(ROOT / "fuzz"),
        # each object in an allocation of its own, so that no reading past its end goes unnoticed
        "PYTHONMALLOC": "malloc",
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "ASAN_OPTIONS": "quarantine_size_mb=32:malloc_context_size=5",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def _stat(said: str, name: str) -> int:
    match = re.search(rf"stat::{name}:\s+(\d+)", said)
    return int(match[1]) if match else 0


def _call(*command: str | Path) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
