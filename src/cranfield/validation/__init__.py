"""What `cranfield check` finds: what each file is, and everything wrong or suspicious in it."""

from cranfield.validation.checks import check_file
from cranfield.validation.findings import Checked, Finding
from cranfield.validation.pairs import Pair, pair_up

__all__ = ["Checked", "Finding", "Pair", "check_file", "pair_up"]
