"""trec_eval, drop-in: its command line, its files, its output byte for byte, its exit codes and messages.

Ranks, joins and values come from `judge` and the registry of measures. What lives here is what only trec_eval does:
reading leniently, rounding and averaging in its order, printing, and failing as it does, in versions 9.0.8 and 10.0.
Four of its defects are repaired unless `--strict` is given, each with a line on standard error.
"""

from cranfield.evaluation.tools.trec_eval.arguments import Options
from cranfield.evaluation.tools.trec_eval.evaluation import trec_eval
from cranfield.evaluation.tools.trec_eval.outcome import Outcome

__all__ = ["Options", "Outcome", "trec_eval"]
