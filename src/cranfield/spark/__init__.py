"""The same evaluation on Apache Spark: exactly our numbers where the data are."""

from cranfield.spark.asking import evaluate
from cranfield.spark.comparing import Difference, compare
from cranfield.spark.frame import SparkScores

__all__ = ["Difference", "SparkScores", "compare", "evaluate"]
