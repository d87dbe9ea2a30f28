"""The compiled core; everything else about the package is in pyproject.toml."""

import os

from setuptools import Extension, setup

HEADERS = ["hits", "judgments", "lines", "numbers", "postings", "powers", "ranking", "scan", "sums"]

setup(
    ext_modules=[
        Extension(
            "cranfield._core",
            ["src/core/module.c"],
            depends=[f"src/core/{name}.h" for name in HEADERS],
            # a product and a sum rounded at once would differ from the Python twin in the last bit
            extra_compile_args=[] if os.name == "nt" else ["-ffp-contract=off"],
            # without a compiler the install succeeds, and the Python twin does the work
            optional=True,
        )
    ]
)
