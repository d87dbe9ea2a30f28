"""Passwords, keys and tokens: read from the environment, sent in headers, masked in every message."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from cranfield.errors import InputError

SECRET_NAMES = r"key|token|secret|passw\w*|pwd|auth|signature|sig"
_SECRETS: set[str] = set()


def register_secrets(*values: str) -> None:
    """Mask these values in every message from now on."""
    _SECRETS.update(value for value in values if value)


def register_credentials(url: str, headers: Mapping[str, str]) -> None:
    """Mask the password of a URL, and the parameters and headers whose names say that they are secret."""
    parts = urlsplit(url)
    parameters = [value for name, value in parse_qsl(parts.query) if re.search(rf"(?:{SECRET_NAMES})$", name, re.I)]
    fields = [value for name, value in headers.items() if re.search(rf"{SECRET_NAMES}|cookie", name, re.I)]
    without_scheme = [value.rpartition(" ")[2] for value in fields]  # the token of 'Bearer token'
    register_secrets(unquote(parts.password or ""), *parameters, *fields, *without_scheme)


def mask_secrets(text: str) -> str:
    """Replace every registered secret with ***, also where it is escaped for a URL or for JSON.

    >>> register_secrets("sk-5a7d")
    >>> mask_secrets('{"error": "no such key: SK-5A7D"}')
    '{"error": "no such key: ***"}'
    """
    forms = {form for secret in _SECRETS for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])}
    if not forms:
        return text
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    # a short secret is masked only as a whole word, or parts of ordinary words would disappear
    parts = (re.escape(form) if len(form) > 5 else rf"(?<!\w){re.escape(form)}(?!\w)" for form in longest_first)
    return re.sub("|".join(parts), "***", text, flags=re.I)


def mask_url(url: str) -> str:
    """Replace the credentials in a URL with ***.

    >>> mask_url("opensearch+http://me:s3cret@host:9200/docs?api_key=abc&k=3")
    'opensearch+http://***@host:9200/docs?api_key=***&k=3'
    """
    return re.sub(rf"([?&;][\w.-]*(?:{SECRET_NAMES})=)[^&;#\s]*", r"\1***", _mask_user(url), flags=re.I)


def strip_query(url: str) -> str:
    """A URL without its query, and with user and password masked.

    >>> strip_query("https://me:s3cret@host/v1?key=abc")
    'https://***@host/v1'
    """
    return _mask_user(url).partition("?")[0]


def read_secret(name: str) -> str:
    """The value of an environment variable, masked in messages from now on."""
    value = os.environ.get(name)
    if not value:
        raise InputError(f"the environment variable {name} is not set, or is empty.")
    register_secrets(value)
    return value


def read_key(name: str) -> str:
    """A secret that is sent in a header."""
    key = read_secret(name)
    if not key.isprintable() or not key.isascii():
        raise InputError(f"the environment variable {name} has characters that a header cannot have.")
    return key


def parse_header(text: str) -> tuple[str, str]:
    """The name and the value of a header `Name: value`; `$NAME` in the value is read from the environment.

    >>> parse_header("X-Tenant: lab")
    ('X-Tenant', 'lab')
    """
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name.strip()):
        raise InputError(f"expected a header as 'Name: value', found {name!r}.")
    value = re.sub(r"\$(\w+)|\$\{(\w+)\}", lambda match: read_secret(match[1] or match[2]), value.strip())
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
        raise InputError(f"header {name!r} must be on one line, without control characters.")
    return name.strip(), value


def _mask_user(url: str) -> str:
    return re.sub(r"//[^/?#]*@", "//***@", url)
