"""The command line as getopt_long reads it: clustered flags, abbreviated long ones, files anywhere between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cranfield.evaluation.tools.trec_eval.numbers import MOST, atol
from cranfield.evaluation.tools.trec_eval.outcome import Stop
from cranfield.measures import FAMILIES, NICKNAMES

RELEASES = {9: "9.0.8", 10: "10.0"}
USAGE = (
    "Usage: trec_eval [-h] [-q] {-m measure}* trec_rel_file trec_top_file\n"
    "   -h: Give full help information, including other options\n"
    "   -q: In addition to summary evaluation, give evaluation for each query\n"
    "   -m: calculate and print measures indicated by 'measure'\n"
    "       ('-m all_qrels' prints all qrels measures, '-m official' is default)\n"
)
# which letters have an argument; then the long name of each; one has an argument only there
_LETTERS = {**dict.fromkeys("hvqcnJo", False), **dict.fromkeys("mlDNMRTZ", True)}
_LONG = {
    "help": "h",
    "version": "v",
    "query_eval_wanted": "q",
    "measure": "m",
    "complete_rel_info_wanted": "c",
    "level_for_rel": "l",
    "nosummary": "n",
    "Debug_level": "D",
    "Judged_docs_only": "J",
    "Number_docs_in_coll": "N",
    "Max_retrieved_per_topic": "M",
    "Rel_info_format": "R",
    "Results_format": "T",
    "Output_old_results_format": "o",
    "Zscore": "Z",
}


@dataclass
class Options:
    """What a command line asks for."""

    version: int = 9
    strict: bool = False
    per_query: bool = False
    summary: bool = True
    complete: bool = False
    judged_only: bool = False
    level: int = 1
    most: int = MOST
    docs: int = 0
    judgments: str = "qrels"
    results: str = "trec_results"
    zscores: str | None = None
    only: str | None = None  # the one query that -D asks for
    help: bool = False
    names: list[str] = field(default_factory=list)  # measures and nicknames, in the order given
    parameters: dict[str, list[str]] = field(default_factory=dict)  # by measure, in the order given
    files: list[str] = field(default_factory=list)

    @property
    def measures(self) -> list[str]:
        """The families requested, in the order of trec_eval's table."""
        asked = {name for given in self.names or ["official"] for name in NICKNAMES.get(given, (given,))}
        return [name for name, family in FAMILIES.items() if name in asked and family.since <= self.version]


def read_arguments(arguments: Sequence[str]) -> Options:
    """The options, or a Stop where trec_eval stops."""
    options, rest = _ours(list(arguments))
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            options.files += rest
            break
        if argument.startswith("--"):
            _long(argument[2:], rest, options)
        elif argument.startswith("-") and argument != "-":
            _cluster(argument[1:], rest, options)
        else:
            options.files.append(argument)
    if not options.help and len(options.files) != 2:
        raise Stop(1, USAGE)
    return options


def _ours(arguments: list[str]) -> tuple[Options, list[str]]:
    """What trec_eval does not have: which version to be, and whether to repair nothing."""
    options, rest = Options(), []
    while arguments:
        argument = arguments.pop(0)
        if argument == "--strict":
            options.strict = True
        elif argument == "--as" or argument.startswith("--as="):
            version = argument[5:] if "=" in argument else arguments.pop(0) if arguments else ""
            if version not in ("9", "10"):
                raise Stop(1, f"trec_eval: --as {version!r}: expected 9 or 10\n")
            options.version = int(version)
        else:
            rest.append(argument)
    return options, rest


def _long(text: str, rest: list[str], options: Options) -> None:
    name, sign, value = text.partition("=")
    known = [name] if name in _LONG else [long for long in _LONG if long.startswith(name)]
    if len(known) > 1:
        choices = " ".join(f"'--{long}'" for long in known)
        raise Stop(1, f"trec_eval: option '--{name}' is ambiguous; possibilities: {choices}\n{USAGE}")
    if not known:
        raise Stop(1, f"trec_eval: unrecognized option '--{name}'\n{USAGE}")
    letter = _LONG[known[0]]
    if not (_LETTERS[letter] or letter == "o"):
        if sign:
            raise Stop(1, f"trec_eval: option '--{known[0]}' doesn't allow an argument\n{USAGE}")
        _apply(letter, "", options)
        return
    if not sign and not rest:
        raise Stop(1, f"trec_eval: option '--{known[0]}' requires an argument\n{USAGE}")
    _apply(letter, value if sign else rest.pop(0), options)


def _cluster(letters: str, rest: list[str], options: Options) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in _LETTERS:
            raise Stop(1, f"trec_eval: invalid option -- '{letter}'\n{USAGE}")
        if not _LETTERS[letter]:
            _apply(letter, "", options)
            continue
        if not letters and not rest:
            raise Stop(1, f"trec_eval: option requires an argument -- '{letter}'\n{USAGE}")
        _apply(letter, letters or rest.pop(0), options)
        return


def _apply(letter: str, value: str, options: Options) -> None:
    _EFFECTS[letter](options, value)


def _measure(options: Options, value: str) -> None:
    name, dot, parameters = value.partition(".")
    if dot and not parameters:
        raise Stop(1, f"trec_eval: improper measure in parameter '{name}'\ntrec_eval: illegal measure '{name}'\n")
    family = FAMILIES.get(name)
    if name not in NICKNAMES and (family is None or family.since > options.version):
        raise Stop(1, f"trec_eval: illegal measure '{name}'\n")
    options.names.append(name)
    if dot:
        options.parameters.setdefault(name, []).append(parameters)


def _version(options: Options, _: str) -> None:
    raise Stop(0, f"trec_eval version {RELEASES[options.version]}\n")


def _debug(options: Options, value: str) -> None:
    _level, dot, query = value.partition(".")
    if dot:
        options.only = query


def _sets(name: str, value: object = None, number: bool = False) -> Callable[[Options, str], None]:
    """Set an option to a value, or to the argument."""

    def effect(options: Options, argument: str) -> None:
        setattr(options, name, value if value is not None else atol(argument) if number else argument)

    return effect


_EFFECTS: dict[str, Callable[[Options, str], None]] = {
    "h": _sets("help", True),
    "v": _version,
    "q": _sets("per_query", True),
    "m": _measure,
    "c": _sets("complete", True),
    "l": _sets("level", number=True),
    "n": _sets("summary", False),
    "D": _debug,
    "J": _sets("judged_only", True),
    "N": _sets("docs", number=True),
    "M": _sets("most", number=True),
    "R": _sets("judgments"),
    "T": _sets("results"),
    "o": lambda options, _: None,  # obsolete: accepted, and without effect
    "Z": _sets("zscores"),
}
