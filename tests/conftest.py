"""What tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def shared_data() -> Path:
    """The folder of real test collections, where there is one."""
    folder = os.environ.get("CRANFIELD_TEST_DATA")
    if not folder:
        pytest.skip("CRANFIELD_TEST_DATA is not set")
    return Path(folder)
