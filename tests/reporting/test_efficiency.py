"""What systems cost, in words, tables and JSON."""

from __future__ import annotations

import json

from cranfield.base import replace
from cranfield.lab.bench import Account, Bench, Load, of_indexing, of_latencies
from cranfield.lab.costs import Cost, Indexing
from cranfield.lab.energy import Energy, Joules, Use
from cranfield.lab.latency import Failure, Latency, Throughput
from cranfield.reporting.efficiency import as_json, as_text, sentences

LATENCIES = [Latency(f"q{i}", s, r, (1 + i) * (2 if s == "b" else 1)) for i in range(20) for s in "ab" for r in (1, 2)]
SERVER = Indexing(100, 2_000_000, None, Cost(2.0, 1.5, 50_000_000, None), "opensearch+http://***@host/docs", "2.11")


def measured() -> Bench:
    found = of_latencies(LATENCIES, "a")
    accounts = (
        Account("a", "embedded", "0.1", 2_000_000, 100, 0, "", "opened anew"),
        Account("b", "http-get", "", None, None, 3, "answered 500.", "a new connection"),
    )
    machine = {
        "processor": "abacus",
        "cores": 1,
        "memory_bytes": 8e9,
        "system": "Linux",
        "python": "3.11",
        "engines": {},
    }
    return replace(
        found,
        systems=accounts,
        machine=machine,
        cold=tuple(Latency("q1", s, r, 10.0 * r) for s in "ba" for r in (1, 2, 3)),
        throughputs=tuple(Throughput(s, 1, 500, 2.0, 3 * (s == "b"), "answered 500.") for s in "ab"),
        load=Load(clients=(1,)),
        failures={"latency": (Failure("q1", "b", 1, "answered 500."),)},
    )


def test_every_table_and_sentence_has_its_figures() -> None:
    text = as_text(measured(), 200, False)
    assert "a       embedded 0.1        100       2.00                0" in text
    assert "b       http-get              –          –                3" in text
    assert "b takes 2.00 times as long as a [2.00, 2.00] and is faster on 0 of 20 queries" in text
    assert "b: 3 searches failed and have no latency. The first error: answered 500." in text
    assert "3 failed" in text and "250" in text and "abacus, 1 core, 8 GB, Linux.\nPython 3.11." in text
    assert "Cold, for 'a': opened anew.\nCold, for 'b': a new connection." in text
    # 40 searches: 4 beyond p90, 2 beyond p95, none or one beyond p99
    assert "Only 4 of 40 searches exceed p90" in text


def test_the_longest_has_a_limit_on_one_side_only() -> None:
    # 20/40 · 19/39 · 18/38 · 17/37 · 16/36 = .024: the fifth longest of 20, 19, 18, … is 16
    assert "[16.0, ∞)" in as_text(measured(), 200, False)
    content = json.loads(as_json(measured()))
    assert content["latency"][0]["max"] == 20 and content["latency"][0]["max_low"] == 16


def test_json_counts_failures_where_they_happened() -> None:
    content = json.loads(as_json(measured()))
    assert [one["errors"] for one in content["latency"]] == [0, 1]
    assert [one["errors"] for one in content["latency_cold"]] == [0, 0]
    assert [one["system"] for one in content["latency_cold"]] == ["a", "b"]
    assert content["throughput"][1]["errors"] == 3 and content["throughput"][0]["queries_per_second"] == 250


def test_a_table_fits_into_80_columns() -> None:
    found = replace(measured(), indexings=(SERVER,))
    tables = as_text(found, 80, False).partition("b takes")[0]
    assert max(map(len, tables.splitlines())) <= 80
    # the longest stands beside the percentiles, not in a table of its own
    assert tables.count("latency in ms, one query at a time") == 1


def test_of_a_server_what_is_not_seen_is_a_dash() -> None:
    found = of_indexing([SERVER])
    text = as_text(found, 300, False)
    row = next(line for line in text.splitlines() if line.startswith("opensearch"))
    assert row.split()[2:] == ["2.00", "1.50", "50", "1.00", "50", "–", "–", "–", "–"]
    assert "only the client is measured" in text and json.loads(as_json(found))["indexing"]["index_bytes"] is None


def test_energy_has_a_table_where_there_are_counters() -> None:
    energy = Energy(Use("", 0, 2.0, Joules(cpu=20.0)), (Use("a", 10, 2.0, Joules(cpu=30.0)),))
    text = as_text(replace(measured(), energy=energy), 200, False)
    assert "energy in 2 s, one client" in text and "Energy is that of the whole machine" in text
    row = next(line for line in text.splitlines() if line.startswith("a ") and line.endswith(" 1"))
    assert row.split() == ["a", "30", "–", "–", "15", "3", "1"]
    record = json.loads(as_json(replace(measured(), energy=energy)))["energy"]
    assert record["counters"] and record["systems"][0]["joules_per_search"] == 3
    assert record["systems"][0]["ram_joules"] is None and record["idle"]["watts"] == 10


def test_without_counters_that_is_said_and_nothing_is_zero() -> None:
    found = replace(measured(), energy=Energy(Use("", 0, 2.0, Joules()), (Use("a", 10, 2.0, Joules()),)))
    assert "No energy counter can be read" in sentences(found)[-3]
    assert "energy in" not in as_text(found, 200, False)
    record = json.loads(as_json(found))["energy"]
    assert record["counters"] is False and record["systems"][0]["cpu_joules"] is None
    assert record["systems"][0]["joules_per_search"] is None and "No energy counter" in record["note"]
