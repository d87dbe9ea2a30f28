"""Other tools: their conventions as differences from ours, comparisons with them, and trec_eval itself."""
