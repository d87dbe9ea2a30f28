"""A new workspace: a `cranfield.toml` that names what there is, with a word on what else it may say."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cranfield.errors import InputError
from cranfield.experiment.workspace import FILE, Workspace, parse_workspace
from cranfield.io import open_output, strip_compression_suffix
from cranfield.lab import is_named

REST = """
# What is measured: see 'cranfield measures'.
# [evaluation]
# measures = ["nDCG@10", "AP"]
# baseline = "{system}"

# Which documents are to be judged: the first ones of all systems.
[pool]
depth = 20

# How they are judged, with 'cranfield serve'.
[judging]
# guidelines = "guidelines.txt"
# assessors = ["ada", "grace"]  # topics are dealt to
# overlap = 0.2                 # the share of pairs that get a second judgment
"""


def begin(
    folder: str | os.PathLike[str],
    *,
    title: str = "",
    parts: Mapping[str, str] | None = None,
    runs: Sequence[str] = (),
    force: bool = False,
) -> Workspace:
    """Write a `cranfield.toml`; `parts` are files of documents, topics and qrels, as seen from here."""
    place = Path(folder)
    file = place / FILE
    if file.exists() and not force:
        raise InputError("is there already. --force replaces it.", str(file))
    text = text_of(
        title or place.resolve().name, {k: _seen(v, place) for k, v in (parts or {}).items()}, _runs(runs, place)
    )
    workspace = parse_workspace(text, place)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror or error}.", str(place)) from None
    with open_output(file) as out:
        out.write(text.encode("utf-8", "surrogateescape"))
    return workspace


def text_of(title: str, parts: Mapping[str, str], runs: Mapping[str, str]) -> str:
    """The text of a `cranfield.toml`.

    >>> print(text_of("Lamps", {"documents": "d.jsonl", "topics": "t.xml"}, {})[:60])
    # Change what you like, then: cranfield experiment
    <BLANKLINE>
    title =
    """
    lines = ["# Change what you like, then: cranfield experiment", "", f"title = {_quoted(title)}", "", "[collection]"]
    for part, example in (("documents", "documents.jsonl"), ("topics", "topics.xml"), ("qrels", "qrels.txt")):
        lines.append(f"{part} = {_quoted(parts[part])}" if part in parts else f"# {part} = {_quoted(example)}")
    lines += ["", "[systems]"]
    lines += [f"{_key(name)} = {{ run = {_quoted(run)} }}" for name, run in runs.items()]
    if "bm25" not in runs and "documents" in parts and ("topics" in parts or is_named(parts["documents"])):
        lines.append('bm25 = "bm25"')
    first = next(iter(runs), "bm25")
    return "\n".join(lines) + "\n" + REST.format(system=first)


def _seen(text: str, folder: Path) -> str:
    """A file as seen from the folder."""
    if is_named(text):
        kind, _, where = text.partition(":")
        return text if kind.lower() == "ir_datasets" else f"{kind}:{_from(where, folder)}"
    if not os.path.exists(text):
        raise InputError("there is no such file.", text)
    return _from(text, folder)


def _from(path: str, folder: Path) -> str:
    return os.path.relpath(path, folder) if not os.path.isabs(path) else path


def _runs(runs: Sequence[str], folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for run in runs:
        stem = os.path.splitext(os.path.basename(strip_compression_suffix(run)))[0]
        name = re.sub(r"[^\w.+=-]+", "-", stem).lstrip(".+=-") or "run"
        while name in found:
            name += "x"
        found[name] = _seen(run, folder)
    return found


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _quoted(name)


def _quoted(text: str) -> str:
    """A text as TOML has it; JSON's way is one of TOML's."""
    return json.dumps(text, ensure_ascii=False)
