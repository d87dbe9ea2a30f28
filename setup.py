"""The compiled core; everything else about the package is in pyproject.toml."""

import os
from glob import glob

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "cranfield.base._core",
            ["src/core/module.c"],
            depends=sorted(glob("src/core/*.h")),
            # a product and a sum rounded at once would differ from the Python twin in the last bit
            extra_compile_args=[] if os.name == "nt" else ["-ffp-contract=off"],
            # without a compiler the install succeeds, and the Python twin does the work
            optional=True,
        )
    ]
)
