"""How large the code has become, and which tests of the last run were slowest: printed by `make check`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
SLOWEST = 10


def main() -> None:
    for folder in ("src", "tests"):
        files = sorted((ROOT / folder).rglob("*.py"))
        lines = sum(file.read_bytes().count(b"\n") for file in files)
        print(f"{folder + '/':<7}{len(files):>5} files{lines:>8,} lines")
    for name in ("test", "test-all"):
        report = ROOT / "build" / f"{name}.xml"
        if report.exists():
            print_slowest(f"make {name}", report)


def print_slowest(command: str, report: Path) -> None:
    (suite,) = ElementTree.parse(report).getroot()
    tests = sorted(suite.iter("testcase"), key=lambda test: -float(test.attrib["time"]))
    print(f"{command}: {len(tests):,} tests in {float(suite.attrib['time']) / 60:.1f} minutes, the slowest of them:")
    for test in tests[:SLOWEST]:
        print(f"{float(test.attrib['time']):>7.1f} s  {test.attrib['classname']}::{test.attrib['name']}")


if __name__ == "__main__":
    main()
