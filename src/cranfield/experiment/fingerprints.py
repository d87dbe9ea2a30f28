"""What was made of what: digests of inputs and outputs, kept beside the outputs in `.cranfield`.

A stamp is written before its output is renamed into place, and holds the output's digest. So an output is known to
be whole whenever it is found as its stamp says, an interrupted one is made again, and a file without a stamp is not
ours and is never replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cranfield.base import Record
from cranfield.errors import CranfieldError, InputError
from cranfield.experiment.plan import Step
from cranfield.experiment.workspace import Workspace
from cranfield.io import expand_path, hash_file
from cranfield.lab import address_of, is_named

KEPT = ".cranfield"
TEMPORARY = "tmp-"
Stamp = dict[str, Any]


class Busy(CranfieldError):
    """Another experiment is at work in the folder."""


class Store(Record):
    """The outputs of a workspace and their stamps."""

    workspace: Workspace

    @property
    def folder(self) -> Path:
        return self.workspace.folder

    @property
    def temporary(self) -> Path:
        """Where outputs are made, before they are put in their places."""
        return self.folder / KEPT / f"{TEMPORARY}{os.getpid()}"

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Be the only one at work here, with nothing left of one that was killed."""
        try:
            (self.folder / KEPT).mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}.", str(self.folder)) from None
        with _locked(self.folder / KEPT / "lock", self.folder):
            self._sweep()
            try:
                yield
            finally:
                self._sweep()

    def stamp(self, step: Step, digest: Mapping[str, str]) -> Stamp:
        """What an output of a step would be made of, now."""
        return {
            "cranfield": version("cranfield"),
            "kind": step.kind,
            "settings": json.loads(json.dumps(step.settings)),
            "inputs": {name: digest[name] for name in (*step.inputs, *step.uses)},
        }

    def why(self, step: Step, stamp: Stamp) -> str | None:
        """Why a step must be taken; None if its outputs are there, made of just this."""
        old = self._old(step)
        if old is None:
            return "new"
        if any(old.get(part) != stamp[part] for part in stamp):
            return _difference(old, stamp)
        for output, digest in old["outputs"].items():
            path = self.folder / output
            if not path.exists():
                return f"{output} is gone"
            if digest_of(path) != digest:
                return f"{output} is not as it was made"
        return None

    def digests(self, step: Step) -> dict[str, str]:
        """The digests of a step's outputs, as its stamp has them."""
        old = self._old(step)
        assert old is not None
        return dict(old["outputs"])

    def has_own_pool(self, step: Step) -> bool:
        """Whether a pool is there that somebody else chose: it may be judged by now, and is kept."""
        return step.kind == "pool" and not self._stamp_file(step).exists() and (self.folder / step.name).is_file()

    def refuse_foreign(self, step: Step, force: bool) -> None:
        """Nothing is put where something stands that is not ours; where it is a folder, not even by force."""
        if self._stamp_file(step).exists():
            return
        for output in step.outputs:
            path = self.folder / output
            if path.is_dir() and not (path / "index.json").exists():
                raise InputError("this folder is in the way, and is no index. Move it.", str(path))
            if os.path.lexists(path) and not force:
                what = "this is in the way, and was not made by this experiment"
                raise InputError(f"{what}. Move it, or replace it with --force.", str(path))

    def publish(self, step: Step, stamp: Stamp, made: Path, digests: Sequence[str]) -> None:
        """Put outputs in their places."""
        outputs = dict(zip(step.outputs, digests, strict=True))
        written = made / "stamp"
        try:
            written.write_text(json.dumps({**stamp, "outputs": outputs}, indent=1) + "\n")
            _replace(written, self._stamp_file(step), made)
            for output in outputs:
                _replace(made / os.path.basename(output), self.folder / output, made)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}.", str(self.folder / step.name)) from None

    def _stamp_file(self, step: Step) -> Path:
        return self.folder / KEPT / "stamps" / f"{step.name.removeprefix(f'{KEPT}/')}.json"

    def _old(self, step: Step) -> Stamp | None:
        try:
            found = json.loads(self._stamp_file(step).read_text())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and set(found.get("outputs", ())) == set(step.outputs) else None

    def _sweep(self) -> None:
        """Remove what a killed experiment left half made."""
        for left in (self.folder / KEPT).glob(f"{TEMPORARY}*"):
            shutil.rmtree(left, ignore_errors=True)


def digest_of_source(workspace: Workspace, text: str) -> str:
    """The SHA-256 of a file, of the files that a pattern or a folder stands for, or of a collection's."""
    if not is_named(text):
        return _digest_of_files(workspace.located(text))
    address = address_of(workspace.located(text))
    if address.kind == "ir_datasets":  # not a folder: what it holds is fixed by its name
        return hashlib.sha256(text.encode()).hexdigest()
    if not os.path.exists(address.where):
        raise InputError("there is no such folder.", str(address))
    parts = [_digest_of_files(address.where)]
    parts += [
        digest_of(Path(file)) for option in address.options.values() if os.path.isfile(file := address.beside(option))
    ]
    return parts[0] if len(parts) == 1 else hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _digest_of_files(path: str) -> str:
    files = expand_path(path)
    if files == [path]:
        return digest_of(Path(path))
    lines = (f"{digest_of(Path(file))} {os.path.relpath(file, os.path.dirname(path) or '.')}\n" for file in files)
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, or of a folder's files with their names."""
    if path.is_dir():
        inner = sorted(file for file in path.rglob("*") if file.is_file())
        lines = (f"{digest_of(file)} {file.relative_to(path).as_posix()}\n" for file in inner)
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    return hash_file(path)


def _difference(old: Stamp, new: Stamp) -> str:
    """What has changed since an output was made."""
    if old.get("cranfield") != new["cranfield"]:
        return f"made by cranfield {old.get('cranfield')}"
    before = old.get("inputs", {})
    changed = [name for name, digest in new["inputs"].items() if before.get(name, digest) != digest]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return f"{changed[0]}{more} changed"
    was, now = old.get("settings", {}), new["settings"]
    settings = [name for name in now if was.get(name) != now[name]]
    return f"other {', '.join(settings)}" if settings else "other inputs"


def _replace(made: Path, target: Path, aside: Path) -> None:
    """Rename a file or a folder to its place; a folder that is there is moved aside first, to be swept up."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        os.rename(target, aside / f"old-{target.name}")
    elif made.is_dir() and os.path.lexists(target):
        target.unlink()
    os.replace(made, target)


@contextmanager
def _locked(path: Path, folder: Path) -> Iterator[None]:
    """Hold a lock that ends with this process, however it ends."""
    try:
        file = path.open("a+")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}.", str(path)) from None
    with file:
        if not _lock(file):
            file.seek(0)
            who = file.read().strip()
            by = f" (process {who})" if who else ""
            raise Busy(f"{folder}: another experiment is at work here{by}. Wait for it to end, or stop it.")
        _note(file, f"{os.getpid()}\n")
        try:
            yield
        finally:
            _note(file, "")


def _lock(file: Any) -> bool:
    try:
        import fcntl
    except ImportError:  # not on every system: there two experiments at once are not noticed
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _note(file: Any, text: str) -> None:
    """Say who holds the lock; where the disk is full, nobody is told."""
    try:
        file.truncate(0)
        file.write(text)
        file.flush()
    except OSError:
        return
