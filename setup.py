"""The compiled core; everything else about the package is in pyproject.toml."""

from setuptools import Extension, setup

HEADERS = ["hits", "judgments", "lines", "numbers", "powers", "ranking", "scan", "sums"]

setup(
    ext_modules=[
        Extension(
            "cranfield._core",
            ["src/core/module.c"],
            depends=[f"src/core/{name}.h" for name in HEADERS],
            # without a compiler the install succeeds, and the Python twin does the work
            optional=True,
        )
    ]
)
