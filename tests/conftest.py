"""What tests share: servers that are started once for each process, and markers for what a test needs."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import soak
from tests.lab import servers
from tests.waiting import TIMEOUT

MARKERS = {"postgres": "postgres", "chromium": "browser", "site": "docs", "spark": "spark", "ranx": "ranx"}
NOT_FAST = {*MARKERS.values(), "simulation", "slow"}

settings.load_profile("cranfield")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures they use, and the others as fast; choose those of a part of `make soak`."""
    for item in items:
        for fixture in MARKERS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKERS[fixture])
        if NOT_FAST.isdisjoint(mark.name for mark in item.iter_markers()):
            item.add_marker("fast")
    if soak.SOAK:
        others = [item for item in items if soak.part_of(item) != soak.PART]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if soak.part_of(item) == soak.PART]


@pytest.fixture
def shared_data() -> Path:
    """The folder of real test collections, where there is one."""
    folder = os.environ.get("CRANFIELD_TEST_DATA")
    if not folder:
        pytest.skip("CRANFIELD_TEST_DATA is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server; tests make schemas, tables or databases of their own in it."""
    pytest.importorskip("psycopg")
    with ExitStack() as stack:
        try:
            place = stack.enter_context(servers.postgres())
        except servers.NoPostgres as error:
            pytest.skip(str(error))
        yield f"postgresql://lab:s3cret@{place}/postgres"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A real browser, without a window."""
    api = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        new_context = browser.new_context

        def patient_context(**options: Any) -> Any:
            context = new_context(**options)
            context.set_default_timeout(1000 * TIMEOUT)
            return context

        browser.new_context = patient_context
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def ranx() -> Any:
    """ranx, which compiles itself with numba for minutes when it is first used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ranx")
