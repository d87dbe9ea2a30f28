"""A file such as `cranfield bench --format json` writes."""

from __future__ import annotations

import json
from pathlib import Path


def bench(folder: Path, **p50: float) -> Path:
    """What `cranfield bench --format json` writes, more or less."""
    figures = {name: {"value": ms, "low": 0.9 * ms, "high": 1.1 * ms} for name, ms in p50.items()}
    latency = [{"system": name, "p50": figure, "p95": figure} for name, figure in figures.items()]
    content = {"machine": {"processor": "Abacus"}, "load": {}, "queries": 2, "latency": latency, "throughput": []}
    (folder / "bench.json").write_text(json.dumps(content))
    return folder / "bench.json"
