"""cranfield trec_eval: a drop-in replacement for the reference tool."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from cranfield.cli.output import echo
from cranfield.evaluation import trec_eval
from cranfield.measures import FAMILIES, NICKNAMES


class Unparsed(click.Command):
    """A command that gets its arguments unparsed; its options are declared only for the help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["arguments"] = tuple(args)
        return []


def _flag(*names: str, help_text: str, metavar: str | None = None) -> click.Option:
    return click.Option(list(names), is_flag=metavar is None, metavar=metavar, help=help_text, expose_value=False)


OPTIONS: list[click.Parameter] = [
    click.Argument(["qrels"], metavar="QRELS"),
    click.Argument(["run"], metavar="RUN"),
    _flag("--as", metavar="9|10", help_text="Which version to follow: 9.0.8 or 10.0. [default: 9]"),
    _flag("--strict", help_text="Repair no defects."),
    _flag("-q", "--query_eval_wanted", help_text="Also print every topic."),
    _flag("-n", "--nosummary", help_text="Print no summary."),
    _flag("-m", "--measure", metavar="MEASURE[.PARAMS]", help_text="A measure or a nickname; repeatable."),
    _flag("-c", "--complete_rel_info_wanted", help_text="Average over all judged topics."),
    _flag("-l", "--level_for_rel", metavar="N", help_text="The lowest relevant level. [default: 1]"),
    _flag("-M", "--Max_retrieved_per_topic", metavar="N", help_text="Use only the first N documents."),
    _flag("-J", "--Judged_docs_only", help_text="Remove unjudged documents (after -M)."),
    _flag("-N", "--Number_docs_in_coll", metavar="N", help_text="Size of the collection, for utility."),
    _flag("-R", "--Rel_info_format", metavar="FORMAT", help_text="qrels, qrels_jg, prefs or qrels_prefs."),
    _flag("-T", "--Results_format", metavar="FORMAT", help_text="trec_results."),
    _flag("-Z", "--Zscore", metavar="FILE", help_text="Print z-scores; lines of topic, measure, mean, deviation."),
    _flag("-D", "--Debug_level", metavar="N[.TOPIC]", help_text="Accepted; evaluates only TOPIC, prints nothing more."),
    _flag("-o", "--Output_old_results_format", help_text="Accepted; does nothing, as in trec_eval."),
    _flag("-v", "--version", help_text="Print the version of trec_eval."),
    _flag("-h", "--help", help_text="Show this help, and describe the measures of -m."),
]


@click.pass_context
def callback(ctx: click.Context, arguments: tuple[str, ...]) -> Any:
    outcome = trec_eval(arguments)
    if outcome.help_for is not None:
        echo(ctx.get_help() + "\n\n" + _describe_measures(outcome.help_for))
        return 0
    echo(outcome.out)
    click.echo(outcome.err.encode("utf-8", "surrogateescape"), nl=False, err=True)
    return outcome.code


command = Unparsed(
    "trec_eval",
    context_settings={"max_content_width": 100},
    params=OPTIONS,
    callback=callback,
    add_help_option=False,
    help="""Evaluate as trec_eval does, with the same command line, output, exit codes and messages.

    Flags may be clustered (-qcl2), have their value attached or after a space (-M100, -mP.5,10), and be abbreviated in
    their long form. Files are read as trec_eval reads them; for other formats see `cranfield eval`.

    Four defects are repaired, each with a line on standard error, unless --strict is given: gains that differ by less
    than 1 are sorted correctly (-m ndcg.1=.2,2=.5), all of several -m P.1 -m P.2 count, -nan becomes 0.0000, and
    comments that trec_eval calls malformed or crashes on are skipped.

    \b
    Example:
      cranfield trec_eval -q -c -M1000 qrels.txt bm25.run
      cranfield trec_eval --as 10 -m all_trec -l2 qrels.txt bm25.run
      cranfield trec_eval -h -m ndcg_cut
    """,
)


def _describe_measures(names: tuple[str, ...]) -> str:
    """Descriptions of measures; without names, a list of all."""
    if not names:
        known = [f"{name}: {', '.join(members)}" for name, members in NICKNAMES.items()]
        listed = ["Measures: " + ", ".join(FAMILIES), *known, "For details on one: -h -m MEASURE"]
        return (
            "\n\n".join(textwrap.fill(text, 80, subsequent_indent="  ", break_on_hyphens=False) for text in listed)
            + "\n"
        )
    return "\n".join(_describe_measure(name) for name in names)


_NOT_MEASURES = {"runid": "The tag of the last line of the run.", "relstring": "The levels of the first documents."}


def _describe_measure(name: str) -> str:
    make, takes = FAMILIES[name].make, FAMILIES[name].takes
    if make is None:
        text = _NOT_MEASURES[name]
    else:
        measure = make(FAMILIES[name].usual[0]) if takes in ("cutoffs", "points") else make()
        text = f"{measure.title}. {measure.about}"
    return textwrap.fill(text, 80, initial_indent=f"{name}: ", subsequent_indent="  ") + "\n"
