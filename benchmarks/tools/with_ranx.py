"""ranx with its own parsers: QRELS RUN; prints the sum of each measure's values."""

import json
import sys

from ranx import Qrels, Run, evaluate

NAMES = {
    "ndcg@10": "nDCG@10",
    "map": "AP",
    "mrr": "RR",
    "precision@10": "P@10",
    "recall@100": "R@100",
    "bpref": "Bpref",
}

qrels = Qrels.from_file(sys.argv[1], kind="trec")
run = Run.from_file(sys.argv[2], kind="trec")
results = evaluate(qrels, run, list(NAMES), return_mean=False)
print(json.dumps({NAMES[name]: sum(values.tolist()) for name, values in results.items()}))
