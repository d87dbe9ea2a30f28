"""What commands cost, seen from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.errors import CranfieldError, InputError
from cranfield.lab.costs import Cost, Indexing, as_record, cost_of, descendants, hardware, indexing_cost, size_of
from tests.waiting import wait_until


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
    assert cost.disk is not None and 3_000_000 <= cost.disk < 4_100_000


def test_memory_is_that_of_a_process_and_its_children_together(tmp_path: Path) -> None:
    """Three processes of 60 MB each are 180 MB at a time, though none has more than 80."""
    program = (
        "import subprocess, sys, time\n"
        "child = 'block = bytearray(60_000_000); block[::1000] = b\"x\" * 60_000; print(flush=True); input()'\n"
        "pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "running = [subprocess.Popen([sys.executable, '-c', child], **pipes) for _ in range(3)]\n"
        "[one.stdout.readline() for one in running]\n"
        "time.sleep(0.4)\n"
        "[one.communicate(b'\\n') for one in running]\n"
    )
    cost = cost_of(python(program))
    if sys.platform == "linux":
        assert 180e6 < cost.memory < 500e6
    assert cost.disk == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of files without a name")
def test_temporary_files_without_a_name_are_seen(tmp_path: Path) -> None:
    program = (
        "import sys, tempfile, time\n"
        "with tempfile.TemporaryFile(dir=sys.argv[1]) as file:\n"
        "    file.write(b'x' * 5_000_000); file.flush(); time.sleep(0.5)\n"
    )
    assert 5_000_000 <= (cost_of(python(program, tmp_path), [tmp_path]).disk or 0) < 5_100_000


def test_what_was_there_before_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"x" * 1_000_000)
    assert (
        cost_of(python("open(__import__('sys').argv[1] + '/new', 'w').write('x' * 10)", tmp_path), [tmp_path]).disk
        == 10
    )


def test_the_tree_of_processes_is_found() -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux tells")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"]) as child:
        assert child.pid in descendants(os.getpid()) and descendants(child.pid) == []
        child.kill()
    assert descendants(child.pid) == []


def test_a_command_ends_with_whoever_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux tells")

    def interrupted(process: object, folders: object) -> tuple[int, int]:
        wait_until((tmp_path / "pid").exists)
        raise KeyboardInterrupt

    monkeypatch.setattr("cranfield.lab.costs._watched", interrupted)
    program = (
        "import os, sys, time\n"
        "open(sys.argv[1] + '/new', 'w').write(str(os.getpid()))\n"
        "os.rename(sys.argv[1] + '/new', sys.argv[1] + '/pid'); time.sleep(3600)\n"
    )
    with pytest.raises(KeyboardInterrupt):
        cost_of(python(program, tmp_path))
    gone = Path("/proc") / (tmp_path / "pid").read_text()

    def has_ended() -> bool:
        try:
            return "(zombie)" in (gone / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True

    wait_until(has_ended, "the command goes on")


def test_an_index_is_weighed_against_its_text(tmp_path: Path) -> None:
    index = tmp_path / "index"
    found = indexing_cost(python("import sys; open(sys.argv[1], 'wb').write(b'x' * 500)", index), index, 10, 1000)
    assert found.index_bytes == 500 and found.bytes_per_document == 50 and found.ratio_to_text == 0.5
    assert found.engine == "embedded" and found.documents == 10
    with pytest.raises(InputError, match="has written no index"):
        indexing_cost(python("pass"), tmp_path / "none", 1, 1)


def test_an_index_nobody_knows_the_size_of_has_no_shares() -> None:
    record = as_record(Indexing(100, 4_000_000, None, Cost(2.0, 3.0, 1, None), "opensearch"))
    unknown = ("index_bytes", "bytes_per_document", "ratio_to_text", "temporary_bytes")
    assert [record[name] for name in unknown] == [None] * 4 and record["documents_per_second"] == 50
    empty = as_record(Indexing(0, 0, 10, Cost(2.0, 3.0, 1, 20)))
    assert empty["bytes_per_document"] == 0 and empty["ratio_to_text"] == 0 and empty["temporary_bytes"] == 10


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
    assert found["memory_bytes"] is None or found["memory_bytes"] > 1e8
    assert found["system"] and found["numpy"] and found["cranfield"] and found["engines"] == {}
    assert hardware({"sqlite": "3.40"})["engines"] == {"sqlite": "3.40"}
