"""What the HTTP interface takes and gives, as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from topicrawl import __version__

_TEXT = {"type": "string"}
_ERRORS = {
    "400": "something in the request is not as it must be",
    "401": "the token is missing",
    "403": "a change that another site asked for",
    "404": "there is no such collection or page",
    "409": "the collection cannot be used now",
    "413": "too large",
}
_OBJECT = {"type": "object"}
_ADDRESSES = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 1000}


def described() -> dict[str, Any]:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Topicrawl", "version": __version__, "description": "Collections of focused crawls."},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}, {}],
        "paths": {**_of_all(), **_of_one("/api/collections/{name}")},
    }


def _of_all() -> dict[str, Any]:
    """What is asked of all collections together."""
    judged = {"query": _TEXT, "relevant": _ADDRESSES, "irrelevant": _ADDRESSES}
    feedback = _change("Which hits were right and which were wrong", "feedback", judged, "query")
    return {
        "/api/openapi.json": {"get": _operation("This description", "schema")},
        "/api/search": {"get": _operation("One answer from all collections", "search", *_query_fields())},
        "/api/feedback": {"post": feedback},
        "/api/peer/{name}": {"post": _change("What servers ask each other", "peer", {})},
        "/api/collections": {"get": _operation("All collections", "collections")},
    }


def _of_one(one: str) -> dict[str, Any]:
    """What is asked of one collection."""
    url = _query("url", {"type": "string", "maxLength": 4000}, required=True)
    before = _query("before", {"type": "integer", "minimum": 0, "maximum": 1 << 40})
    verdict = {"type": "string", "enum": ["relevant", "irrelevant", "unsure", ""]}
    ruled = {"urls": _ADDRESSES, "verdict": verdict}
    kinds = ["seed", "word", "block", "boost", "pause", "resume", "stop"]
    order = {"kind": {"type": "string", "enum": kinds}, "target": _TEXT, "amount": {"type": "number"}}
    return {
        one: {"get": _operation("One collection: figures, failures, hosts", "collection", _name())},
        f"{one}/next": {"get": _operation("The best links that wait, and why", "next", _name(), _count())},
        f"{one}/pages": {"get": _operation("Pages, the newest first", "pages", _name(), before, _count())},
        f"{one}/page": {"get": _operation("One page as text, and how it was reached", "page", _name(), url)},
        f"{one}/verdicts": {"post": _change("A verdict on pages", "rule", ruled, "urls", "verdict")},
        f"{one}/undo": {"post": _change("Take the last verdict back", "undo", {})},
        f"{one}/orders": {"post": _change("Tell a crawl something", "order", order, "kind")},
    }


def _name() -> dict[str, Any]:
    return {"name": "name", "in": "path", "required": True, "schema": _TEXT}


def _query(name: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def _query_fields() -> list[dict[str, Any]]:
    text = {"type": "string", "maxLength": 1000}
    offset = {"type": "integer", "minimum": 0, "maximum": 1000}
    fields = {"q": text, "like": text, "count": {"type": "integer", "minimum": 1, "maximum": 100}, "offset": offset}
    return [_query(name, schema) for name, schema in fields.items()]


def _count() -> dict[str, Any]:
    return _query("count", {"type": "integer", "minimum": 1, "maximum": 200})


def _operation(summary: str, name: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    answers = {"200": _answer("as asked"), **{status: _answer(text) for status, text in _ERRORS.items()}}
    return {"summary": summary, "operationId": name, "parameters": list(parameters), "responses": answers}


def _answer(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": _OBJECT}, "text/plain": {"schema": _TEXT}}}


def _change(summary: str, name: str, fields: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields, "required": list(required)}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {**_operation(summary, name, _name()), "requestBody": body}
