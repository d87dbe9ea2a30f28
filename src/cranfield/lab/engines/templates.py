"""Templates with {query} and {depth} in them: URLs, bodies in JSON, arguments of commands. Each is filled safely."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from cranfield.errors import InputError


def filled_url(template: str, query: str, depth: int) -> str:
    """A URL for a query.

    >>> filled_url("https://host/search?q={query}&k={depth}", "cats & dogs", 10)
    'https://host/search?q=cats%20%26%20dogs&k=10'
    """
    return _filled(template, query, depth, lambda text: quote(text, safe=""))


def filled_json(template: str, query: str, depth: int) -> Any:
    """What a body in JSON says for a query; {query} stands within quotation marks.

    >>> filled_json('{"q": "{query}", "k": {depth}}', 'a "b"', 10)
    {'q': 'a "b"', 'k': 10}
    """
    text = _filled(template, query, depth, lambda text: json.dumps(text)[1:-1])
    try:
        return json.loads(text)
    except ValueError as error:
        what = f'is no JSON once it is filled ({error}); expected e.g. {{"q": "{{query}}", "k": {{depth}}}}'
        raise InputError(f"the body {template!r} {what}.") from None


def filled_arguments(template: str, query: str, depth: int) -> list[str]:
    """The arguments of a command for a query, which no shell gets to see.

    >>> filled_arguments("./search.sh --k={depth} {query}", "$(rm -rf .); cats", 10)
    ['./search.sh', '--k=10', '$(rm -rf .); cats']
    """
    try:
        parts = shlex.split(template)
    except ValueError as error:
        raise InputError(f"the command cannot be parted into arguments: {error}.") from None
    return [_filled(part, query, depth, str) for part in parts]


def filled_shell(template: str, query: str, depth: int) -> str:
    """A line for a shell, with the query quoted.

    >>> filled_shell("grep -c {query} docs.txt | head -n {depth}", "it's", 10)
    'grep -c \\'it\\'"\\'"\\'s\\' docs.txt | head -n 10'
    """
    if any(_is_in_quotes(template[: match.start()]) for match in re.finditer(r"\{query\}", template)):
        raise InputError("{query} must not stand within quotation marks: it is quoted when it is filled in.")
    return _filled(template, query, depth, shlex.quote)


def _is_in_quotes(before: str) -> bool:
    rest = re.sub(r"""'[^']*'|"[^"]*["]""", "", before)
    return "'" in rest or '"' in rest


def has_query(template: str) -> bool:
    return "{query}" in template


def _filled(template: str, query: str, depth: int, quoted: Callable[[str], str]) -> str:
    # in one pass, so that a query with {depth} in it stays as it is
    values = {"{query}": quoted(query), "{depth}": str(depth)}
    return re.sub(r"\{(?:query|depth)\}", lambda match: values[match[0]], template)
