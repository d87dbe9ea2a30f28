"""Taking the steps of an experiment: those that are missing, several at a time, and saying what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from cranfield.base import Record, count_cores, join_names, pluralize
from cranfield.errors import CranfieldError, InputError
from cranfield.experiment.fingerprints import Stamp, Store, digest_of_source
from cranfield.experiment.plan import Step, evaluating, measuring, searching, usable, without_baseline
from cranfield.experiment.worker_pool import DELAY, WorkerPool
from cranfield.experiment.workspace import Engine, Fusion, Search, Workspace
from cranfield.fusion import make_recipe
from cranfield.lab import engine_url, is_url, system_named
from cranfield.measures import parse_measures
from cranfield.stats import CORRECTIONS, TESTS
from cranfield.text import Analysis

State = Literal["begun", "made", "unchanged", "failed", "left"]


class Event(Record):
    """What became of an output; `left` are those that cannot be made for want of another, or of an extra."""

    output: str
    state: State
    why: str = ""
    notes: tuple[str, ...] = ()
    kind: str = ""


class Planned(Record):
    """What would be made, and why; without a reason it is there already."""

    output: str
    why: str | None


def perform(workspace: Workspace, *, jobs: int | None = None, force: bool = False) -> Iterator[Event]:
    """Make what is missing or out of date, up to `jobs` at a time; all of it with `force`.

    A step that fails does not keep others from being taken. Whatever was made stays, also if this is interrupted.
    """
    check(workspace)
    store = Store(workspace)
    most, delay = jobs or workspace.jobs or count_cores(), 0 if jobs else DELAY
    with store.opened(), WorkerPool(workspace.folder, most, delay) as pool:
        course = _Course(store, pool, force)
        yield from course.take(searching(workspace))
        yield from course.take(measuring(workspace, course.there))
        yield from course.lost_baselines()
        yield from course.take(evaluating(workspace, course.there))


def plan(workspace: Workspace, *, force: bool = False) -> list[Planned]:
    """What `perform` would make, and why."""
    check(workspace)
    store = Store(workspace)
    known = _Digests(workspace)
    made: set[str] = set()
    planned = []
    for step in _all_steps(workspace):
        why = _reason(store, step, known, made, force)
        if why is not None:
            made.update(step.outputs)
        elif not store.has_own_pool(step):
            known.update(store.digests(step))
        if not step.vouches:
            planned.append(Planned(step.name, why))
    return planned


def number_of_steps(workspace: Workspace) -> int:
    """How many outputs an experiment has if nothing fails."""
    return len(_all_steps(workspace))


def _all_steps(workspace: Workspace) -> list[Step]:
    """The steps of an experiment of which none fails."""
    first = searching(workspace)
    first += measuring(workspace, usable(first))
    return [*first, *evaluating(workspace, usable(first))]


def check(workspace: Workspace) -> None:
    """Whether measures, systems and methods are known: before hours are spent on anything."""
    for key, wrong in _checks(workspace):
        raise InputError(f"{key}: {wrong}", workspace.file)


def _checks(workspace: Workspace) -> Iterator[tuple[str, Exception]]:
    evaluation = workspace.evaluation
    try:
        parse_measures(list(evaluation.measures))
    except CranfieldError as error:
        yield "evaluation.measures", error
    for key, given, known in (("test", evaluation.test, TESTS), ("correction", evaluation.correction, CORRECTIONS)):
        if given is not None and given not in known:
            yield f"evaluation.{key}", CranfieldError(f'is "{given}", expected one of {", ".join(known)}.')
    for collection in workspace.collections:
        try:
            Analysis(collection.index.stemmer, collection.index.stop_words)
        except CranfieldError as error:
            yield f"collection{f's.{collection.name}' if collection.name else ''}.index", error
    for system in workspace.systems:
        try:
            _check_system(system)
        except CranfieldError as error:
            yield f"systems.{system.name}", error


def _check_system(system: object) -> None:
    if isinstance(system, Search):
        _check_vectors(system)
    elif isinstance(system, Fusion):
        recipe = make_recipe(
            system.method, len(system.uses), norm=system.norm, weights=system.weights, params=system.params
        )
        if recipe.method.learn:
            raise CranfieldError(f"{recipe.method.name} learns from judgments, which an experiment does not let it.")
    elif isinstance(system, Engine):
        if not is_url(system.url):
            raise CranfieldError(f'engine is "{system.url}", expected a URL such as sqlite:FILE.')
        engine_url(system.url)


def _check_vectors(system: Search) -> None:
    """Whether vectors are named where a system compares them, and only there."""
    chosen = system_named(system.system)
    if chosen.is_dense and (system.vectors is None or system.query_vectors is None):
        raise CranfieldError("dense compares vectors: name the files, vectors = and query_vectors =, .npy or Parquet.")
    if not chosen.is_dense and (system.query_vectors or (system.vectors and chosen.diversity is None)):
        raise CranfieldError(f"vectors are for dense and mmr; {system.system} compares words.")


class _Digests(dict[str, str]):
    """The digests of what steps are made of: of outputs as they are made, of inputs when they are asked for."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace

    def __missing__(self, text: str) -> str:
        self[text] = digest = digest_of_source(self.workspace, text)
        return digest


def _reason(store: Store, step: Step, known: _Digests, made: set[str], force: bool) -> str | None:
    """Why a step would be taken, as far as that can be told before others are."""
    if not force and store.has_own_pool(step):
        return None
    first = next((name for name in step.uses if name in made), None)
    if first is not None:
        return f"made of {first}"
    try:
        why = store.why(step, store.stamp(step, known))
        store.refuse_foreign(step, force)
    except InputError as error:
        return f"cannot be made: {error}"
    return "--force" if why is None and force else why


class _Course:
    """An experiment under way: what is there by now, and what never will be."""

    def __init__(self, store: Store, pool: WorkerPool, force: bool) -> None:
        self.store = store
        self.pool = pool
        self.force = force
        self.digests = _Digests(store.workspace)
        self.there: set[str] = set()  # what steps have made or vouched for
        self.lost: set[str] = set()
        self.busy: dict[str, tuple[Step, Stamp]] = {}
        self.number = 0

    def lost_baselines(self) -> Iterator[Event]:
        names = without_baseline(self.store.workspace, self.there)
        if names:
            yield Event("the comparison and the report", "left", f"there is no run of the baseline {join_names(names)}")

    def take(self, steps: list[Step]) -> Iterator[Event]:
        """Take steps as soon as what they use is there."""
        waiting = list(steps)
        while waiting or self.busy:
            for step in [step for step in waiting if self._is_due(step)]:
                if not self._is_due(step):  # one of the others took its place
                    continue
                waiting.remove(step)
                yield from self._begin(step)
            if self.busy:
                yield self._finish()

    def _is_due(self, step: Step) -> bool:
        if any(name in self.lost for name in step.uses):
            return True
        taken = any(step.alone and other.alone == step.alone for other, _ in self.busy.values())
        return not taken and all(name in self.there for name in step.uses)

    def _begin(self, step: Step) -> Iterator[Event]:
        lost = [name for name in step.uses if name in self.lost]
        if lost:
            yield self._without(step, "left", f"it is made of {join_names(lost, 3)}, which could not be made")
            return
        if not self.force and self.store.has_own_pool(step):
            yield self._without(step, "left", "there is one already that this experiment did not make; it is kept")
            return
        try:
            stamp = self.store.stamp(step, self.digests)
            why = self.store.why(step, stamp)
            if why is None and not self.force:
                self._have(step, self.store.digests(step))
                yield Event(step.shown, "unchanged", kind=step.kind)
                return
            self.store.refuse_foreign(step, self.force)
        except CranfieldError as error:
            yield self._without(step, "failed", str(error))
            return
        self._ask(step, stamp)
        yield Event(step.shown, "begun", why or "--force", kind=step.kind)

    def _ask(self, step: Step, stamp: Stamp) -> None:
        self.number += 1
        self.busy[step.name] = step, stamp
        into = self.store.temporary / str(self.number)
        task = {
            "kind": step.kind,
            "settings": step.settings,
            "inputs": stamp["inputs"],
            "outputs": step.outputs,
            "into": str(into.relative_to(self.store.folder)),
            "force": self.force,
        }
        self.pool.submit(task)

    def _finish(self) -> Event:
        task, result = self.pool.next_result()
        step, stamp = self.busy.pop(task["outputs"][0])
        if "error" in result:
            optional = step.optional and result.get("extra")
            return self._without(step, "left" if optional else "failed", result["error"])
        try:
            self.store.publish(step, stamp, self.store.folder / task["into"], result["digests"])
        except CranfieldError as error:
            return self._without(step, "failed", str(error))
        self._have(step, dict(zip(step.outputs, result["digests"], strict=True)))
        return Event(step.shown, "made", notes=tuple(result["notes"]), kind=step.kind)

    def _have(self, step: Step, digests: Mapping[str, str]) -> None:
        self.there.update((*digests, step.vouches))
        self.digests.update(digests)

    def _without(self, step: Step, state: State, why: str) -> Event:
        self.lost.update((*step.outputs, step.vouches))
        return Event(step.shown, state, why, kind=step.kind)


def outcome(events: list[Event]) -> str:
    """How many outputs were made, and how many were there already."""
    made = sum(event.state == "made" and event.kind != "check" for event in events)
    unchanged = sum(event.state == "unchanged" and event.kind != "check" for event in events)
    parts = [f"{pluralize(made, 'output')} made"] if made or not unchanged else []
    parts += [f"{pluralize(unchanged, 'output')} unchanged"] if unchanged else []
    return ", ".join(parts) + "."
