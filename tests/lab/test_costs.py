"""What commands cost, seen from outside."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cranfield.errors import CranfieldError, InputError
from cranfield.lab.costs import Cost, Indexing, as_record, cost_of, hardware, indexing_cost, size_of


def python(program: str, *args: object) -> list[str]:
    return [sys.executable, "-c", program, *map(str, args)]


def test_time_memory_and_disk_are_those_of_the_command(tmp_path: Path) -> None:
    program = (
        "import sys, time, os\n"
        "block = bytearray(80_000_000)\n"
        "temporary = sys.argv[1] + '/temporary'\n"
        "open(temporary, 'wb').write(b'x' * 3_000_000)\n"
        "time.sleep(0.3); os.unlink(temporary)\n"
        "open(sys.argv[1] + '/kept', 'wb').write(b'x' * 1_000_000)\n"
    )
    cost = cost_of(python(program, tmp_path), [tmp_path])
    assert 0.3 < cost.wall < 30 and 0 < cost.cpu < cost.wall + 1
    assert 80e6 < cost.memory < 400e6
    assert 3_000_000 <= cost.disk < 4_100_000


def test_an_index_is_weighed_against_its_text(tmp_path: Path) -> None:
    index = tmp_path / "index"
    found = indexing_cost(python("import sys; open(sys.argv[1], 'wb').write(b'x' * 500)", index), index, 10, 1000)
    assert found.index_bytes == 500 and found.bytes_per_document == 50 and found.ratio_to_text == 0.5
    with pytest.raises(InputError, match="has written no index"):
        indexing_cost(python("pass"), tmp_path / "none", 1, 1)


def test_rates_are_by_the_clock() -> None:
    found = Indexing(100, 4_000_000, 1_000_000, Cost(2.0, 3.0, 1, 1_500_000))
    record = as_record(found)
    assert record["documents_per_second"] == 50 and record["megabytes_per_second"] == 2
    assert record["temporary_bytes"] == 500_000 and record["cost"]["cpu"] == 3.0


def test_a_command_that_fails_is_told_with_its_last_words() -> None:
    with pytest.raises(CranfieldError, match="ended with 3: disk full"):
        cost_of(python("import sys; print('disk full', file=sys.stderr); sys.exit(3)"))


def test_sizes_are_of_all_files_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"12345")
    (tmp_path / "a" / "b" / "two").write_bytes(b"123")
    assert size_of(tmp_path) == 8 and size_of(tmp_path / "a" / "one") == 5 and size_of(tmp_path / "none") == 0


def test_the_machine_is_described() -> None:
    found = hardware()
    assert found["cores"] >= 1 and found["processor"] and found["python"].startswith("3.")
