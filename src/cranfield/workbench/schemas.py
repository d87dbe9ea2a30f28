"""Parts of an OpenAPI description: schemas of values, and operations. Every part of the API describes its routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, get_args, get_type_hints

from cranfield.base import Record

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
ERRORS = {
    400: "invalid request",
    401: "not signed in",
    403: "not allowed for this role, or the CSRF token is missing",
    404: "not found",
    409: "not possible now",
    413: "too large",
    415: "unsupported format",
    429: "too many attempts",
    503: "the database does not answer, or an index is still being built; nothing was saved, try again",
    507: "the disk is full; nothing was saved",
}
_TYPES: dict[Any, Schema] = {str: STRING, int: INTEGER, float: NUMBER, bool: BOOLEAN}


# Values


def schema_of(kind: Any) -> Schema:
    """The schema of a type: a record, a basic type, an optional one, or a sequence.

    >>> class Point(Record):
    ...     x: float
    ...     label: str | None = None
    >>> schema_of(tuple[Point, ...])["items"]["properties"]["label"]
    {'anyOf': [{'type': 'string'}, {'type': 'null'}]}
    """
    if kind in _TYPES:
        return _TYPES[kind]
    if isinstance(kind, type) and issubclass(kind, Record):
        return obj(**{name: schema_of(hint) for name, hint in get_type_hints(kind).items() if not name.startswith("_")})
    parts = get_args(kind)
    if NoneType in parts:
        return nullable(schema_of(parts[0]))
    return array(schema_of(parts[0]))


def obj(optional: Mapping[str, Schema] | None = None, /, **required: Schema) -> Schema:
    """An object with properties that are always present, and optional ones."""
    schema: Schema = {"type": "object", "properties": {**required, **(optional or {})}}
    return schema | ({"required": list(required)} if required else {})


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


# Operations


def get(
    summary: str,
    parameters: Mapping[str, Schema] | None = None,
    *,
    required: Sequence[str] = (),
    response: Schema | None = None,
    media_types: Sequence[str] = (JSON,),
) -> dict[str, Any]:
    """A GET request."""
    return {"get": _operation(summary, parameters, required, response, media_types)}


def post(
    summary: str,
    body: Schema | None = None,
    *,
    parameters: Mapping[str, Schema] | None = None,
    response: Schema | None = None,
    takes: str = JSON,
) -> dict[str, Any]:
    """A POST request."""
    operation = _operation(summary, parameters, (), response, (JSON,)) | {
        "security": [{"session": [], "token": []}],
        "requestBody": {"required": True, "content": {takes: {"schema": body or OBJECT}}},
    }
    return {"post": operation}


def form(summary: str, optional: Mapping[str, Schema] | None = None, /, **required: Schema) -> dict[str, Any]:
    """A form; the response is a page or a redirect to one."""
    operation = post(summary, obj(optional, csrf=STRING, **required), takes=FORM)
    responses = operation["post"]["responses"]
    responses["303"] = {"description": "done; go to this page", "headers": {"location": {"schema": STRING}}}
    responses["200"] = {"description": "done", "content": {"text/html": {"schema": STRING}}}
    for status in ERRORS:
        responses[str(status)]["content"]["text/html"] = {"schema": STRING}
    return operation


def _operation(
    summary: str,
    parameters: Mapping[str, Schema] | None,
    required: Sequence[str],
    response: Schema | None,
    media_types: Sequence[str],
) -> dict[str, Any]:
    query = [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in (parameters or {}).items()
    ]
    errors: dict[str, Any] = {
        str(status): describe_response(text, {"$ref": "#/components/schemas/Error"}) for status, text in ERRORS.items()
    }
    # requests from other sites are refused by the middleware, in plain text
    errors["403"]["content"]["text/plain"] = {"schema": STRING}
    errors["421"] = describe_response("unknown host name", STRING, "text/plain")
    done = describe_response("done", response or {}, *media_types)
    return {"summary": summary, "parameters": query, "responses": {"200": done, **errors}}


def describe_response(text: str, schema: Schema, *media_types: str) -> dict[str, Any]:
    return {"description": text, "content": {one: {"schema": schema} for one in media_types or (JSON,)}}
