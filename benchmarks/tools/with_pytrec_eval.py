"""pytrec_eval with its own parsers: QRELS RUN...; prints the sum of each measure's values."""

import json
import sys
from collections import Counter

import pytrec_eval

NAMES = {
    "ndcg_cut_10": "nDCG@10",
    "map": "AP",
    "recip_rank": "RR",
    "P_10": "P@10",
    "recall_100": "R@100",
    "bpref": "Bpref",
}

with open(sys.argv[1]) as file:
    qrels = pytrec_eval.parse_qrel(file)
evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(NAMES))
sums: Counter[str] = Counter()
for path in sys.argv[2:]:
    with open(path) as file:
        run = pytrec_eval.parse_run(file)
    for values in evaluator.evaluate(run).values():
        for name, value in values.items():
            sums[NAMES[name]] += value
print(json.dumps(sums))
