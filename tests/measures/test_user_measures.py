"""A user's own measures, named by file and class."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from cranfield import CranfieldError, evaluate, explain, parse_measure, parse_measures
from cranfield.measures import REGISTRY

QRELS, RUN = {"q": {"a": 2, "b": 0, "c": 1}}, {"q": {"b": 3.0, "a": 2.0, "x": 1.0}}
HEAD = """from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield import Measure
from cranfield.measures.parameters import CUTOFF
from cranfield.base import Parameter

"""
WEIGHTED = """
class Weighted(Measure):
    '''A weight for each relevant document.'''

    cutoff: int | None = None
    weight: float = 0.5

    parameters: ClassVar = {"cutoff": CUTOFF, "weight": Parameter("the weight", low=0)}

    def terms(self, judged):
        inside = judged.rank <= (self.cutoff or np.inf)
        return np.where((judged.grade > 0) & inside, self.weight, 0.0)
"""


@pytest.fixture(autouse=True)
def registry_as_it_was():
    """Own measures are registered like others: not beyond a test."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def written(folder: Path, body: str) -> Path:
    file = folder / "mine.py"
    file.write_text(HEAD + body)
    return file


def error(name: object) -> str:
    with pytest.raises(CranfieldError) as caught:
        explain(str(name), QRELS, RUN, "q")
    with pytest.raises(CranfieldError) as same:
        evaluate(QRELS, RUN, [str(name)])
    assert str(caught.value) == str(same.value)
    return str(caught.value)


def test_a_measure_in_a_file_is_a_measure_like_any_other(tmp_path: Path) -> None:
    file = written(tmp_path, WEIGHTED)
    scores = evaluate(QRELS, RUN, [f"{file}:Weighted", f"{file}:Weighted@1", f"{file}:Weighted(weight=3)@2"])
    assert scores.summary()["run"] == {"Weighted": 0.5, "Weighted@1": 0.0, "Weighted(weight=3)@2": 3.0}
    assert explain(f"{file}:Weighted(weight=3)@2", QRELS, RUN, "q").with_numbers == "3"


def test_its_class_is_its_name_and_the_name_reads_back(tmp_path: Path) -> None:
    measure = parse_measure(f"{written(tmp_path, WEIGHTED)}:Weighted(weight=2)@5")
    assert str(measure) == "Weighted(weight=2)@5"
    assert parse_measure(str(measure)) == measure


def test_the_file_is_run_once_and_again_only_if_it_changes(tmp_path: Path) -> None:
    file = written(tmp_path, WEIGHTED)
    first, again = (parse_measure(f"{file}:Weighted") for _ in range(2))
    assert type(first) is type(again)
    written(tmp_path, WEIGHTED.replace("0.5", "0.25"))
    assert parse_measure(f"{file}:Weighted").weight == 0.25


def test_a_subclass_of_a_built_in_measure_has_a_name_of_its_own(tmp_path: Path) -> None:
    file = written(tmp_path, "from cranfield.measures import AP\n\nclass Mine(AP):\n    '''AP by another name.'''\n")
    assert str(parse_measure(f"{file}:Mine(rel=2)@5")) == "Mine(rel=2)@5"
    assert REGISTRY["AP"].__name__ == "AP"


def test_two_files_may_have_measures_of_the_same_name_but_not_at_once(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    files = [written(tmp_path, WEIGHTED), written(tmp_path / "other", WEIGHTED.replace("0.5", "2.0"))]
    assert [evaluate(QRELS, RUN, [f"{file}:Weighted"]).mean("Weighted") for file in files] == [0.5, 2.0]
    with pytest.raises(CranfieldError, match="two measures are called Weighted"):
        parse_measures([f"{file}:Weighted" for file in files])


def test_per_query_alone_is_enough(tmp_path: Path) -> None:
    file = written(
        tmp_path, "class Whole(Measure):\n    def per_query(self, judged):\n        return judged.retrieved / 4\n"
    )
    assert explain(f"{file}:Whole", QRELS, RUN, "q").value == 0.75


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    assert error(tmp_path / "none.py:Mine") == f"{tmp_path / 'none.py'}: there is no such file."


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    assert "cannot be read" in error(tmp_path / "folder.py:Mine")


def test_a_class_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    file = written(tmp_path, WEIGHTED)
    assert error(f"{file}:Weigthed") == f"{file}: there is no measure 'Weigthed': it has 'Weighted'."
    assert "it has none" in error(f"{written(tmp_path, 'x = 1')}:Mine")


def test_something_that_is_no_measure_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, "class Mine:\n    pass\n")
    expected = f"{file}: Mine is not a measure: expected a class that subclasses cranfield.Measure."
    assert error(f"{file}:Mine") == expected


LINE = HEAD.count("\n")


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        ("1 / 0\n", LINE + 1, "ZeroDivisionError: division by zero."),
        ("def f(:\n", LINE + 1, "SyntaxError: "),
        ("import nothing_of_this_name\n", LINE + 1, "ModuleNotFoundError: "),
        ("\nraise SystemExit\n", LINE + 2, "SystemExit: no further message."),
        (
            "class Mine(Measure):\n    name = 'AP'\n",
            LINE + 1,
            "Mine cannot be called AP: that is the name of Average precision (AP).",
        ),
    ],
    ids=["division", "syntax", "import", "exit", "name"],
)
def test_what_fails_when_the_file_is_run_is_told_with_its_line(tmp_path: Path, body: str, line: int, says: str) -> None:
    file = written(tmp_path, body)
    assert error(f"{file}:Mine").startswith(f"{file}, line {line}: {says}")


@pytest.mark.parametrize("method", ["terms", "normaliser", "per_query"])
def test_what_fails_in_the_computation_is_told_with_its_line(tmp_path: Path, method: str) -> None:
    body = WEIGHTED + f"\n    def {method}(self, judged):\n        return judged.nothing\n"
    file = written(tmp_path, body)
    line = (HEAD + body).count("\n")
    assert error(f"{file}:Weighted") == (
        f"{file}, line {line}: AttributeError: 'JudgedRun' object has no attribute 'nothing'."
    )


def test_what_fails_only_in_the_explanation_is_told_too(tmp_path: Path) -> None:
    file = written(tmp_path, WEIGHTED + "\n    def columns(self, judged):\n        return {}['x']\n")
    with pytest.raises(CranfieldError, match=r"mine\.py, line \d+: KeyError: 'x'\."):
        explain(f"{file}:Weighted", QRELS, RUN, "q")


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ("np.ones(7)", "gives an array of shape (7,), expected one value for each of 1 queries."),
        ("1.0", "gives an array of shape (), expected one value for each of 1 queries."),
        ("np.full(judged.n, np.nan)", "gives no finite number for query 'q'."),
    ],
)
def test_values_that_are_none_are_refused(tmp_path: Path, returned: str, says: str) -> None:
    file = written(tmp_path, f"class Mine(Measure):\n    def per_query(self, judged):\n        return {returned}\n")
    assert error(f"{file}:Mine") == f"{file}: Mine {says}"


def test_measures_are_values(tmp_path: Path) -> None:
    file = written(tmp_path, WEIGHTED)
    measure, plain = parse_measure(f"{file}:Weighted(weight=3)@5"), parse_measure(f"{file}:Weighted")
    assert measure == parse_measure(str(measure)) != plain
    assert str(measure) == "Weighted(weight=3)@5" and {measure: 1}[parse_measure(str(measure))] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        measure.weight = 4  # type: ignore[attr-defined]


def test_a_measure_is_no_dataclass(tmp_path: Path) -> None:
    file = written(tmp_path, "@dataclass(frozen=True)\n" + WEIGHTED.lstrip())
    assert "Weighted: remove the @dataclass decorator; a measure needs none." in error(f"{file}:Weighted")


def test_a_parameter_must_be_described(tmp_path: Path) -> None:
    file = written(tmp_path, "class Mine(Measure):\n    x: int = 1\n")
    assert error(f"{file}:Mine") == f"{file}: Mine does not describe 'x' in its `parameters`."


def test_errors_in_parameters_are_those_of_every_measure(tmp_path: Path) -> None:
    file = written(tmp_path, WEIGHTED)
    assert "has no parameter 'wieght'" in error(f"{file}:Weighted(wieght=2)")
    assert "expected a number of at least 0" in error(f"{file}:Weighted(weight=-1)")
    assert "is not a measure: expected Name(parameter=value,…)@cutoff" in error(f"{file}:Weighted(")
