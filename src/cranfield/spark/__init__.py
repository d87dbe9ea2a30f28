"""The same evaluation on Apache Spark: exactly our numbers where the data are."""

from cranfield.spark.api import evaluate
from cranfield.spark.cli import evaluated
from cranfield.spark.comparison import Difference, compare
from cranfield.spark.frame import SparkScores

__all__ = ["Difference", "SparkScores", "compare", "evaluate", "evaluated"]
