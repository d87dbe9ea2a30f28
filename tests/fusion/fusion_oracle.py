"""Runs fused by ranx: cases as JSON in, fused runs as JSON out.

Called as a program with NUMBA_DISABLE_JIT=1, under which ranx is plain Python: compiling it takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

Case = dict[str, Any]  # qrels, runs, method, norm, params


def fused_by_ranx(cases: list[Case]) -> list[dict[str, dict[str, float]]]:
    """What ranx makes of each case, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
    made: list[dict[str, dict[str, float]]] = json.loads(done.stdout)
    return made


def _fused(ranx: Any, case: Case) -> dict[str, dict[str, float]]:
    runs = [ranx.Run(run, name=str(i)) for i, run in enumerate(case["runs"])]
    params = dict(case["params"])
    if case["qrels"]:
        params = _trained(ranx, case["qrels"], runs, case["method"], params)
    made = ranx.fuse(runs, norm=case["norm"], method=case["method"], params=params)
    return {query: {doc: float(score) for doc, score in docs.items()} for query, docs in made.to_dict().items()}


def _trained(ranx: Any, qrels: Any, runs: list[Any], method: str, params: dict[str, Any]) -> dict[str, Any]:
    judged = ranx.Qrels({query: {doc: int(grade) for doc, grade in docs.items()} for query, docs in qrels.items()})
    if method == "probfuse":
        from ranx.fusion.probfuse import estimate_probfuse_probs

        return {"probs": estimate_probfuse_probs(judged, runs, int(params["segments"]))}
    train = getattr(ranx.fusion, f"{method}_train")
    name = {"mapfuse": "map_scores", "bayesfuse": "log_odds"}.get(method, "probs")
    return {name: train(judged, runs), **{key: int(value) for key, value in params.items()}}


if __name__ == "__main__":
    import ranx
    import ranx.fusion

    print(json.dumps([_fused(ranx, case) for case in json.load(sys.stdin)]))
