"""cranfield trec_eval: the reference tool's command line, drop-in."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from cranfield.cli.options import echo
from cranfield.evaluation import trec_eval
from cranfield.measures import FAMILIES, NICKNAMES


class AsGiven(click.Command):
    """A command that is handed its arguments as they are; its options are declared for the help only."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["arguments"] = tuple(args)
        return []


def _flag(*names: str, help_text: str, metavar: str | None = None) -> click.Option:
    return click.Option(list(names), is_flag=metavar is None, metavar=metavar, help=help_text, expose_value=False)


OPTIONS: list[click.Parameter] = [
    click.Argument(["qrels"], metavar="QRELS"),
    click.Argument(["run"], metavar="RUN"),
    _flag("--as", metavar="9|10", help_text="Which trec_eval to be: 9.0.8 or 10.0. [default: 9]"),
    _flag("--strict", help_text="Repair nothing."),
    _flag("-q", "--query_eval_wanted", help_text="Also print every topic."),
    _flag("-n", "--nosummary", help_text="Print no summary."),
    _flag("-m", "--measure", metavar="MEASURE[.PARAMS]", help_text="A measure or a nickname; repeatable."),
    _flag("-c", "--complete_rel_info_wanted", help_text="Average over all topics of the judgments."),
    _flag("-l", "--level_for_rel", metavar="N", help_text="The lowest relevant level. [default: 1]"),
    _flag("-M", "--Max_retrieved_per_topic", metavar="N", help_text="Look at the first N documents only."),
    _flag("-J", "--Judged_docs_only", help_text="Leave unjudged documents out (after -M)."),
    _flag("-N", "--Number_docs_in_coll", metavar="N", help_text="Size of the collection, for utility."),
    _flag("-R", "--Rel_info_format", metavar="FORMAT", help_text="qrels, qrels_jg, prefs or qrels_prefs."),
    _flag("-T", "--Results_format", metavar="FORMAT", help_text="trec_results."),
    _flag("-Z", "--Zscore", metavar="FILE", help_text="Print z-scores; lines of topic, measure, mean, deviation."),
    _flag("-D", "--Debug_level", metavar="N[.TOPIC]", help_text="Accepted; evaluates TOPIC only, prints no more."),
    _flag("-o", "--Output_old_results_format", help_text="Accepted; does nothing, as in trec_eval."),
    _flag("-v", "--version", help_text="Print the version of trec_eval that this is."),
    _flag("-h", "--help", help_text="Show this, and what the measures of -m are."),
]


@click.pass_context
def callback(ctx: click.Context, arguments: tuple[str, ...]) -> Any:
    outcome = trec_eval(arguments)
    if outcome.help_for is not None:
        echo(ctx.get_help() + "\n\n" + _about(outcome.help_for))
        return 0
    echo(outcome.out)
    click.echo(outcome.err.encode("utf-8", "surrogateescape"), nl=False, err=True)
    return outcome.code


command = AsGiven(
    "trec_eval",
    context_settings={"max_content_width": 100},
    params=OPTIONS,
    callback=callback,
    add_help_option=False,
    help="""Evaluate as trec_eval does: its command line, its output byte for byte, its exit codes and messages.

    Flags may be clustered (-qcl2), have their value with them or after (-M100, -mP.5,10), and be abbreviated in their
    long form. Files are read as trec_eval reads them; for other formats see `cranfield eval`.

    Four defects are repaired, each with a line on standard error, unless --strict is given: gains less than 1 apart
    are sorted rightly (-m ndcg.1=.2,2=.5), every one of several -m P.1 -m P.2 counts, -nan is 0.0000, and comments
    that are called malformed or crash it are skipped.

    \b
    Example:
      cranfield trec_eval -q -c -M1000 qrels.txt bm25.run
      cranfield trec_eval --as 10 -m all_trec -l2 qrels.txt bm25.run
      cranfield trec_eval -h -m ndcg_cut
    """,
)


def _about(names: tuple[str, ...]) -> str:
    """What the measures asked about are; without any, which there are."""
    if not names:
        known = [f"{name}: {', '.join(members)}" for name, members in NICKNAMES.items()]
        listed = ["Measures: " + ", ".join(FAMILIES), *known, "-h -m MEASURE tells more about one."]
        return (
            "\n\n".join(textwrap.fill(text, 80, subsequent_indent="  ", break_on_hyphens=False) for text in listed)
            + "\n"
        )
    return "\n".join(_explained(name) for name in names)


def _explained(name: str) -> str:
    make, takes = FAMILIES[name].make, FAMILIES[name].takes
    if make is None:
        text = {"runid": "The tag of the last line of the run.", "relstring": "The levels of the first documents."}[
            name
        ]
    else:
        measure = make(FAMILIES[name].usual[0]) if takes in ("cutoffs", "points") else make()
        text = f"{measure.title}. {measure.about}"
    return textwrap.fill(text, 80, initial_indent=f"{name}: ", subsequent_indent="  ") + "\n"
