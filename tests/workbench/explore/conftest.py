"""A small workspace of the bundled example, and clients that explore it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(str(files("cranfield") / "example"))
RUNS = ("bm25", "lm", "lsi", "rm3", "tfidf", "titles")
TOML = """\
title = "Bicycles"
[collection]
documents = "documents.jsonl"
topics = "topics.xml"
qrels = "qrels.txt"
[evaluation]
measures = ["nDCG@10", "AP", "P@10"]
baseline = "bm25"
[systems]
"""


def lay_out(folder: Path) -> Path:
    for name in ("documents.jsonl", "topics.xml", "qrels.txt", *(f"{run}.run" for run in RUNS)):
        shutil.copy(EXAMPLE / name, folder)
    systems = "".join(f'{run} = {{ run = "{run}.run" }}\n' for run in RUNS)
    (folder / "cranfield.toml").write_text(TOML + systems)
    return folder


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with runs."""
    return lay_out(tmp_path_factory.mktemp("bicycles"))


@pytest.fixture(scope="session")
def client(place: Path) -> Iterator[Any]:
    """A client of the local user, who explores."""
    from cranfield.experiment.workspace import open_workspace
    from cranfield.workbench import make_app
    from tests.workbench.conftest import client_of

    with client_of(make_app(open_workspace(place))) as made:
        yield made
