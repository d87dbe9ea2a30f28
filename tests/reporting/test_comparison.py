"""The forms in which comparisons and leaderboards are printed."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.evaluation import evaluate
from cranfield.reporting.comparison import (
    FORMATS,
    MOST_SYSTEMS,
    View,
    as_csv,
    as_html,
    as_json,
    as_latex,
    as_markdown,
    as_table,
    as_text,
    difference_tables,
    leaderboard_text,
    mean_table,
    sentences,
)
from cranfield.stats.comparison import Comparison, compare, make_leaderboard
from cranfield.stats.multiple import randomised_tukey
from cranfield.stats.power import smallest_difference, topics_needed
from cranfield.tables import MISSING, count_columns, render_markdown, render_text
from cranfield.tables.render import Cell, Table
from tests.waiting import TIMEOUT

ODD = "50 % of a_b & $x^2 {~#\\} [<|>] é"


def scores(systems: int, topics: int = 30, *measures: str, seed: int = 1, step: float = 0.1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        f"s{i}": {
            m: {str(q): float(v) for q, v in enumerate(rng.random(topics) / 2 + step * i)} for m in measures or ("AP",)
        }
        for i in range(systems)
    }


@pytest.fixture
def collections() -> Comparison:
    qrels = {f"q{i}": {"a": 1, "b": 0, "c": 1} for i in range(30)}

    def run(*docs: str) -> dict[str, dict[str, float]]:
        return {q: {doc: -float(i) for i, doc in enumerate(docs)} for q in qrels}

    dev = evaluate(qrels, {"x": run("a", "b"), "y": run("b", "a"), "z": run("c")}, ["AP", "RR"])
    test = evaluate(qrels, {"x": run("b", "c"), "z": run("a")}, ["AP", "RR"])
    return compare({"dev": dev, "test": test}, "x")


def cells(table: Table, column: int) -> dict[str, Cell]:
    return {row[0].text: row[column] for row in table.rows}


def test_marks_tell_up_from_down_against_several_references() -> None:
    comparison = compare(scores(4, step=0.2), ["s0", "s3"])
    found = cells(mean_table(comparison, View()), 1)
    assert {name: (cell.above, cell.under, cell.mark) for name, cell in found.items()} == {
        "s0 (a)": ("", "b", "↓b"),
        "s1": ("a", "b", "↑a↓b"),
        "s2": ("a", "b", "↑a↓b"),
        "s3 (b)": ("a", "", "↑a"),
    }
    assert found["s3 (b)"].best and not found["s2"].best


def test_small_print_has_interval_effect_and_wins_against_each_reference() -> None:
    comparison = compare(scores(3), ["s0", "s1"])
    column = comparison.column()
    below = cells(mean_table(comparison, View()), 1)["s2"].below.split("\n")
    score = column.systems[2]
    assert score.low is not None and score.high is not None
    assert below[0] == f"±{(score.high - score.low) / 2:.4f}"
    for letter, reference, line in zip("ab", ("s0", "s1"), below[1:], strict=True):
        effect = comparison.pair("s2", reference).effect
        assert line == f"{letter}: g {effect.hedges_g:.2f}, {effect.wins}/{effect.ties}/{effect.losses}"


def test_all_pairs_have_letters_and_effects_against_the_best() -> None:
    found = cells(mean_table(compare(scores(3, step=0.3)), View()), 1)
    assert [cell.above for cell in found.values()] == ["c", "b", "a"]
    assert found["s0"].below.split("\n")[1].startswith("g −") and "\n" not in found["s2"].below


def test_figures_that_look_the_same_are_marked_alike() -> None:
    given = {"a": {"AP": {"1": 0.50001, "2": 0.2}}, "b": {"AP": {"1": 0.5, "2": 0.2}}, "c": {"AP": {"1": 0, "2": 0}}}
    assert [cell.best for cell in cells(mean_table(compare(given), View()), 1).values()] == [True, True, False]


def test_percent_scales_shares_only() -> None:
    given = scores(2, 10, "AP", "SearchLength")
    table = mean_table(compare(given), View(percent=True))
    column = compare(given).column("AP")
    assert table.rows[0][1].text == f"{100 * column.means[0]:.2f}"
    assert table.rows[0][2].text == f"{compare(given).column('SearchLength').means[0]:.4f}"


def test_warnings_and_captions_have_the_scale_of_the_table() -> None:
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(30)}
    full, holes = ({q: {doc: -float(i) for i, doc in enumerate(docs)} for q in qrels} for docs in ("ab", "xa"))
    comparison = compare(evaluate(qrels, {"full": full, "holes": holes}, ["RR"]))
    assert "difference of 50.0 points in RR could vanish" in as_table(comparison, View(percent=True), 10_000, False)
    assert "difference of 0.500 in RR could vanish" in as_table(comparison, View(), 10_000, False)
    long = compare(scores(2, 10, "SearchLength"))
    assert "Shares × 100." not in as_table(long, View(percent=True), 10_000, False)
    assert "Shares × 100." not in leaderboard_text(make_leaderboard(long), "table", View(percent=True), 10_000, False)
    assert "Shares × 100." in as_table(comparison, View(percent=True), 10_000, False)


def test_letters_of_more_than_26_references_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    # intervals of enormous effects take long, and there are hundreds of them
    monkeypatch.setattr("cranfield.stats.effects.d_z_interval", lambda *_: (0.0, 1.0))
    comparison = compare(scores(29, 10, step=1.0), [f"s{i}" for i in range(28)], resamples=99)
    best = cells(mean_table(comparison, View()), 1)["s28"]
    assert best.above == ",".join([*"abcdefghijklmnopqrstuvwxyz", "aa", "ab"]) and best.mark == f"↑{best.above}"
    assert r"\mathrm{a,b,c" in as_latex(comparison, View())


@pytest.mark.parametrize(("value", "shown"), [(-0.00001, "0.0000"), (0.00001, "0.0000"), (-0.5, "−0.5000")])
def test_zero_has_no_sign(value: float, shown: str) -> None:
    column = compare(scores(2)).column()
    assert View().figure(column, value) == View().signed(column, value) == shown
    assert View().signed(column, 0.5) == "+0.5000"


def test_differences_that_print_as_zero_have_no_sign() -> None:
    flat = {"a": {"AP": {"1": 0.5, "2": 0.7}}, "b": {"AP": {"1": 0.499999, "2": 0.7}}}
    row = difference_tables(compare(flat), View())[0].rows[0]
    assert (row[1].text, row[-1].text) == ("0.0000", "0.0 %")


def test_many_wins_are_parted_by_thousands() -> None:
    n = 10_500
    flat = {"a": {"AP": {str(q): 0.1 for q in range(n)}}, "b": {"AP": {str(q): 0.2 + q % 7 for q in range(n)}}}
    (table,) = difference_tables(compare(flat, resamples=20), View())
    assert table.rows[0][5].text == "10,500/0/0"


def test_an_interval_that_tukey_does_not_have_is_missing() -> None:
    (table,) = difference_tables(compare(scores(3), resamples=10), View())
    assert {row[2].text for row in table.rows} == {MISSING}


def test_json_says_what_was_done_and_what_it_would_take() -> None:
    (column,) = json.loads(as_json(compare(scores(3, 6, step=0.01), resamples=1000)))["columns"]
    known = randomised_tukey(np.array(compare(scores(3, 6, step=0.01)).column().scores), 1000).details
    assert {name: column[name] for name in ("exact", "resamples", "seed", "V_E", "df", "critical")} == known
    assert column["family"] == 3
    content = json.loads(as_json(compare(scores(2, 6, step=0.01), test="permutation")))
    (column,) = content["columns"]
    pair = column["pairs"][0]
    assert (column["exact"], column["resamples"], pair["exact"], pair["resamples"]) == (True, 64, True, 64)
    sd = pair["sd_of_differences"]
    assert pair["topics_needed"] == topics_needed(pair["difference"], sd, content["design"]["power"])
    assert pair["smallest_difference"] == pytest.approx(smallest_difference(6, sd))


def test_many_systems_make_a_table_without_small_print() -> None:
    comparison = compare(scores(MOST_SYSTEMS + 1, step=0.01), "s0")
    assert all(not cell.below for row in mean_table(comparison, View()).rows for cell in row)
    assert any(cell.below for row in mean_table(comparison, View(full=True)).rows for cell in row)
    text = as_table(comparison, View(), 100, False)
    assert "Small:" not in text


def test_of_many_sentences_the_first_measure_is_told_and_the_rest_counted() -> None:
    comparison = compare(scores(8, 30, "AP", "RR"), "s0")
    shown = sentences(comparison, View())
    assert all("AP" in line for line in shown[:-1])
    assert shown[-1] == f"{14 - len(shown) + 1} more sentences with --full or --format json."
    assert len(sentences(comparison, View(full=True))) == 14


def test_collections_are_groups_with_gaps_and_a_mean(collections: Comparison) -> None:
    table = mean_table(collections, View())
    assert table.header == ("System", "AP", "RR", "AP", "RR", "AP", "RR", "Judged@10", "Judged@10")
    mean = "mean of collections"
    assert table.groups == ("", "dev", "dev", "test", "test", mean, mean, "dev", "test")
    y = table.rows[1]
    assert y[3].text == y[4].text == y[8].text == MISSING
    assert y[5].text == "0.2500" and y[5].below == "1 of 2" and not y[5].best
    assert [row[5].best for row in table.rows] == [False, False, True]


@pytest.mark.parametrize("width", [40, 80, 10_000])
def test_terminal_tables_fit(collections: Comparison, width: int) -> None:
    for line in as_table(collections, View(), width, False).splitlines():
        assert count_columns(line) <= max(width, 45)


def test_figures_stand_in_line_behind_their_marks() -> None:
    lines = render_text([mean_table(compare(scores(4), ["s0", "s3"]), View())], 100, False).splitlines()
    points = {line.index(".") for line in lines[1:] if re.match(r"s\d", line)}
    assert len(points) == 1


def test_tables_without_marks_are_as_before() -> None:
    table = Table("", ("Run", "AP"), ((Cell("a"), Cell("0.5", True, "±0.1")), (Cell("b"), Cell("0.4"))))
    assert render_text([table], 80, False) == "Run     AP\na     0.5*\n     ±0.1\nb     0.4\n"
    assert render_markdown(Table("", ("Run", "AP"), ((Cell("a|b"), Cell("0.5", True)),))) == (
        "| Run | AP |\n| --- | ---: |\n| a\\|b | **0.5** |\n"
    )


def rows_of(tabular: str) -> list[int]:
    """How many columns each row of a tabular has."""
    found = []
    for line in tabular.splitlines():
        if line.endswith(r"\\"):
            spans = [int(n) for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
            found.append(1 + len(re.findall(r"(?<!\\)&", line)) + sum(n - 1 for n in spans))
    return found


def check_latex(text: str) -> None:
    """Braces and environments are balanced, rows have the columns they were announced with, nothing odd is bare."""
    code = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", code.replace("\\\\", "")):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", code):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert stack == []
    for columns, body in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", code, re.S):
        assert set(rows_of(body)) == {len(columns)}
    assert code.count("$") - code.count(r"\$") == 2 * len(re.findall(r"(?<!\\)\$[^$]*(?<!\\)\$", code))
    assert not re.search(r"(?<!\\)[%#]", code)
    assert not re.search(r"\\\\\s*\n\s*[\[*]", code)
    assert not re.search("[−αΔ±×≥≤↑↓…–]", code)


def compile_latex(text: str, folder: Path) -> None:
    """With a TeX, if there is one."""
    document = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" + text + "\\end{document}\n"
    (folder / "table.tex").write_text(document)
    for command in (["pdflatex", "-interaction=nonstopmode", "-halt-on-error"], ["tectonic"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, "table.tex"], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
            assert done.returncode == 0, done.stdout[-2000:]
            return


@pytest.mark.parametrize("baseline", [None, "s0", ("s0", "s1", "s2")])
def test_latex_compiles(tmp_path: Path, baseline: Any) -> None:
    text = as_latex(compare(scores(5, 30, "AP", "RR"), baseline), View())
    assert text.startswith(r"% \usepackage{booktabs}") and r"\toprule" in text and r"\caption{Means over 30" in text
    check_latex(text)
    compile_latex(text, tmp_path)


def test_latex_of_collections_compiles(tmp_path: Path, collections: Comparison) -> None:
    text = as_latex(collections, View(percent=True))
    assert r"\multicolumn{2}{c}{dev}" in text and r"\cmidrule(lr){2-3}" in text
    check_latex(text)
    compile_latex(text, tmp_path)


def test_odd_names_do_no_harm_in_any_format(tmp_path: Path) -> None:
    given = {(ODD if name == "s1" else "[*" + name): own for name, own in scores(3).items()}
    for comparison in (compare(given), compare(given, ODD)):
        latex = as_latex(comparison, View())
        check_latex(latex)
        compile_latex(latex, tmp_path)
        page = as_html(comparison, View())
        assert "<|>" not in page and "&lt;|&gt;" in page
        assert r"\|" in as_markdown(comparison, View())


def test_latex_has_superscripts_for_better_and_subscripts_for_worse() -> None:
    text = as_latex(compare(scores(4, step=0.2), ["s0", "s3"]), View())
    assert r"\makebox[0.4em][l]{$^{\mathrm{a}}_{\mathrm{b}}$}" in text
    assert "Superscript a marks a significant gain over a, subscript a a significant loss" in text


class Elements(html.parser.HTMLParser):
    """The elements of a page, which must be closed in order."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.counts: dict[str, int] = {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        assert not {name for name, _ in attrs} & {"src", "href"}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_a_page_of_its_own(collections: Comparison) -> None:
    page = as_html(collections, View())
    found = Elements(page).counts
    assert found["table"] == 5 and found["sub"] and "script" not in found
    assert page.startswith("<!doctype html>") and "<h2>Conclusions</h2>" in page


def test_markdown_has_rows_of_the_same_length(collections: Comparison) -> None:
    text = as_markdown(collections, View())
    first = text.split("\n\n")[0].splitlines()
    assert {line.count("|") for line in first} == {10}
    assert "| System | dev AP | dev RR |" in text and "**Conclusions**" in text


def test_csv_has_systems_and_comparisons_in_full_precision() -> None:
    comparison = compare(scores(3), "s0")
    rows = list(csv.DictReader(io.StringIO(as_csv(comparison))))
    assert [row["reference"] for row in rows] == ["", "", "", "s0", "s0"]
    assert float(rows[1]["mean"]) == comparison.column().means[1]
    pair = comparison.pair("s2", "s0")
    last = rows[-1]
    assert float(last["p"]) == pair.p and float(last["p_adjusted"]) == pair.p_adjusted
    assert float(last["hedges_g"]) == pair.effect.hedges_g and float(last["difference_low"]) == pair.low
    assert last["wins"] == str(pair.effect.wins) and last["verdict"] == "better"


def test_json_holds_every_statistic_in_full_precision() -> None:
    comparison = compare(scores(3), ["s0", "s1"], seed=3)
    content = json.loads(as_json(comparison))
    assert content["design"]["seed"] == 3 and content["design"]["method"] == "paired t-test"
    assert content["references"] == ["s0", "s1"] and content["caption"] == comparison.caption
    (column,) = content["columns"]
    assert column["n"] == 30 and len(column["topics"]) == 30 and column["systems"][2]["best"] is True
    found = next(pair for pair in column["pairs"] if pair["system"] == "s2" and pair["reference"] == "s0")
    pair = comparison.pair("s2", "s0")
    assert found["d_z"] == pair.effect.d_z and found["hedges_g"] == pair.effect.hedges_g
    wanted = {
        "statistic", "p", "p_adjusted", "p_beside", "p_beside_adjusted", "correction", "family", "difference",
        "difference_low", "difference_high", "d_z_low", "d_z_high", "glass_delta", "superiority", "wins", "ties",
        "losses", "tolerance", "relative_change", "reference_mean", "mean", "sd_of_differences", "significant",
    }  # fmt: skip
    assert wanted <= set(found)
    assert content["claims"][0]["text"] == comparison.claims[0].text
    assert set(content["versions"]) == {"cranfield", "numpy", "scipy", "python"}


def test_json_of_collections_has_their_means_and_inputs(collections: Comparison) -> None:
    content = json.loads(as_json(collections))
    assert [c["name"] for c in content["collections"]] == ["dev", "test"]
    assert {"system": "y", "measure": "AP", "mean": 0.25, "present": 1, "collections": 2} in content[
        "means_of_collections"
    ]


def test_json_has_no_infinity_where_differences_do_not_vary() -> None:
    given = {"a": {"AP": {"1": 0.1, "2": 0.2}}, "b": {"AP": {"1": 0.2, "2": 0.3}}}
    (column,) = json.loads(as_json(compare(given)))["columns"]
    assert column["pairs"][0]["statistic"] is None and column["pairs"][0]["d_z"] is None


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("topics", [1, 2])
def test_no_nan_is_printed(format_: str, topics: int) -> None:
    for step in (0.0, 0.1):
        flat = {f"s{i}": {"AP": {str(q): step * i for q in range(topics)}} for i in range(3)}
        for baseline in (None, "s0"):
            text = as_text(compare(flat, baseline), format_, View(), 80, False)
            assert not re.search(r"\b(nan|inf|infinity)\b", text, re.I)


@pytest.mark.parametrize("format_", FORMATS)
def test_leaderboards_are_printed_in_every_format(collections: Comparison, format_: str) -> None:
    board = make_leaderboard(compare(dict(collections.tables), ()))
    text = leaderboard_text(board, format_, View(), 80, False)
    assert "nan" not in text.lower()
    if format_ == "table":
        lines = text.splitlines()
        assert lines[0].split() == ["Rank", "System", "Mean", "dev", "test"]
        assert lines[1].split()[:3] == ["1", "z", "0.5000*"] and "#1" in lines[2]
    if format_ == "json":
        content = json.loads(text)
        assert [(row["rank"], row["system"]) for row in content["leaderboard"]] == [(1, "z"), (2, "x"), (None, "y")]
    if format_ == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 5 and rows[0]["split"] == "dev" and rows[-1]["rank"] == ""
    if format_ == "latex":
        check_latex(text)
    if format_ == "html":
        assert Elements(text).counts["table"] == 1


def test_a_leaderboard_of_one_split_has_no_mean_column() -> None:
    text = leaderboard_text(make_leaderboard(compare(scores(3), ())), "table", View(), 80, False)
    assert text.splitlines()[0].split() == ["Rank", "System", "AP"]
