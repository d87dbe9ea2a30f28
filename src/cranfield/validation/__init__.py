"""Validation of files, for `cranfield check`: what each file is, and everything wrong or suspicious in it."""

from cranfield.validation.checks import check_file
from cranfield.validation.findings import CheckedFile, Finding
from cranfield.validation.pairs import FilePair, compare_files

__all__ = ["CheckedFile", "Finding", "FilePair", "check_file", "compare_files"]
