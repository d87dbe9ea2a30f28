"""A Spark of our own for the tests: two local threads, bound to loopback, and quiet. Skipped where there is no Java."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.spark.spark_frames import ENVIRONMENT, require_spark

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than a few rows do
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark in this process; its Java ends with the tests, whatever became of them."""
    require_spark()
    with pytest.MonkeyPatch.context() as environment, warnings.catch_warnings():
        for name, value in ENVIRONMENT.items():
            environment.setenv(name, value)
        warnings.simplefilter("ignore")  # pyspark's own
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("cranfield tests")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    gateway = session.sparkContext._gateway
    process = gateway.proc
    try:
        yield session
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.stop()
            gateway.shutdown()
            process.stdin.close()
            process.kill()
            process.wait()
            gc.collect()  # sockets that pyspark leaves open are not for others to trip over
