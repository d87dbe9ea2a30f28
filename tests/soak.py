"""The long forms of tests, in parts that each take less than an hour: `make soak`.

A test that has a long form is marked with the part it belongs to, and does more when SOAK is set:

    KILLS = 1000 if SOAK else 10

    @pytest.mark.soak("crashes")
    def test_nothing_is_lost(): ...

Properties that hypothesis tries on random examples belong to the part "random" without a mark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "soak"
PARTS = {
    "crashes": "processes that are killed a thousand times, under load",
    "judges": "random walks of several judges",
    "lab": "an index of a million documents",
    "measures": "every property of every measure on many more random rankings",
    "mutations": "files with random damage",
    "pages": "every picture in a browser, and random requests to the workbench",
    "random": "properties on twenty times as many random examples, other ones each time",
    "statistics": "how often tests and intervals err in 10,000 simulated experiments",
}
PART = os.environ.get("CRANFIELD_SOAK", "")
SOAK = bool(PART)


def examples(number: int) -> settings:
    """That many random examples, and twenty times as many in the long form."""
    return settings(max_examples=20 * number if SOAK else number)


# no example is slow: on a busy machine anything may be; the usual examples are the same each time
settings.register_profile(
    "cranfield",
    max_examples=2000 if SOAK else 100,
    deadline=None,
    derandomize=not SOAK,
    suppress_health_check=list(HealthCheck),
)


def part_of(item: pytest.Item) -> str | None:
    """The part that has the long form of a test, if it has one."""
    mark = item.get_closest_marker("soak")
    if mark is not None:
        return str(mark.args[0])
    return "random" if getattr(getattr(item, "obj", None), "is_hypothesis_test", False) else None


def main(chosen: str) -> None:
    """Run one part, all that this commit has not passed yet, or list them."""
    if chosen == "list":
        for part, about in PARTS.items():
            print(f"{part:<12} {about}: {result(part) or 'not run'}")
        return
    if chosen not in ("all", *PARTS):
        sys.exit(f"unknown part {chosen!r}: expected one of {', '.join(PARTS)}, all or list")
    failed = []
    for part in PARTS if chosen == "all" else (chosen,):
        if chosen == "all" and has_passed(part):
            print(f"{part}: skipped, this commit has passed it: {result(part)}")
        elif not run(part):
            failed.append(part)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run(part: str) -> bool:
    """Run a part, and write a line with its figures to build/soak/."""
    print(f"{part}: {PARTS[part]}", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    report, start, version = FOLDER / f"{part}.xml", time.monotonic(), commit()
    options = ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal", "-o", "faulthandler_timeout=0"]
    command = [sys.executable, "-m", "pytest", *options, "--junitxml", str(report)]
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, "CRANFIELD_SOAK": part}).returncode
    line = f"{'passed' if code == 0 else 'FAILED'} in {(time.monotonic() - start) / 60:.1f} minutes: {figures(report)}"
    (FOLDER / f"{part}.txt").write_text(f"{line} (commit {version})\n")
    print(f"{part}: {line}", flush=True)
    return code == 0


def figures(report: Path) -> str:
    """The numbers of tests, and what tests recorded: numbers added up, shares as they are."""
    (suite,) = ElementTree.parse(report).getroot()
    found: dict[str, float] = defaultdict(float, tests=int(suite.attrib["tests"]), skipped=int(suite.attrib["skipped"]))
    for recorded in suite.iter("property"):
        found[recorded.attrib["name"]] += float(recorded.attrib["value"])
    return ", ".join(
        f"{name} {number:,.4g}" if number % 1 else f"{name} {number:,.0f}" for name, number in found.items()
    )


def result(part: str) -> str:
    file = FOLDER / f"{part}.txt"
    return file.read_text().strip() if file.exists() else ""


def has_passed(part: str) -> bool:
    return result(part).startswith("passed") and result(part).endswith(f"(commit {commit()})")


@cache
def commit() -> str:
    """The commit, and the time where it has been changed since."""
    git = ["git", "describe", "--always", "--abbrev=40", "--match", "-", "--dirty"]
    found = subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"
    return found if not found.endswith(("-dirty", "unknown")) else f"{found} {time.strftime('%Y-%m-%d %H:%M:%S')}"


if __name__ == "__main__":
    main(*sys.argv[1:])
