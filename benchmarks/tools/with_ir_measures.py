"""ir_measures with its own parsers: QRELS RUN; prints the sum of each measure's values."""

import json
import sys
from collections import Counter

import ir_measures
from ir_measures import AP, RR, Bpref, P, R, nDCG

qrels = ir_measures.read_trec_qrels(sys.argv[1])
run = ir_measures.read_trec_run(sys.argv[2])
sums: Counter[str] = Counter()
for metric in ir_measures.iter_calc([nDCG @ 10, AP, RR, P @ 10, R @ 100, Bpref], qrels, run):
    sums[str(metric.measure)] += metric.value
print(json.dumps(sums))
