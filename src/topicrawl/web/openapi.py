"""Description of the JSON API in OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

import msgspec

from topicrawl import __version__
from topicrawl.collection.agreement import AgreementReport
from topicrawl.collection.export.rows import TextKind
from topicrawl.collection.review_report import ReviewReport
from topicrawl.relevance.base import BUILT_IN_JUDGES
from topicrawl.search.models import MAX_QUERY_CHARS, Feedback, SearchResults
from topicrawl.strategies import list_strategies
from topicrawl.web.crawl_figures import NextLinks

_STRING = {"type": "string"}
_ERRORS = {
    "400": "the request is invalid",
    "401": "the token is missing or wrong",
    "403": "a change requested by another site",
    "404": "unknown collection or page",
    "409": "the collection is not available",
    "413": "the request body is too large",
}
_OBJECT = {"type": "object"}
#: Types of the responses, by operation. The other operations return objects without a schema.
_RESPONSE_TYPES = {
    "search": SearchResults,
    "feedback": Feedback,
    "next": NextLinks,
    "review": ReviewReport,
    "agreement": AgreementReport,
}
_STRING_LIST = {"type": "array", "items": _STRING, "minItems": 1, "maxItems": 1000}
_STRING_OR_LIST = {"oneOf": [_STRING, _STRING_LIST]}

_REVIEW_FIELDS = {
    **dict.fromkeys(("relevant", "irrelevant", "unsure"), _STRING_LIST),
    **dict.fromkeys(("accept", "reject"), _STRING_OR_LIST),
    "judge": {"type": "string", "enum": list(BUILT_IN_JUDGES)},
    "by": {"type": "string", "maxLength": 60},
}


_PAGES = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
_CRAWL_FIELDS = {
    "words": {"type": "string", "maxLength": 300},
    "seeds": {"type": "array", "items": _STRING, "minItems": 1, "maxItems": 200},
    "strategy": {"type": "string", "enum": sorted(list_strategies())},
    "pages": _PAGES,
}
#: Export formats of the API with their media types.
EXPORT_TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "warc": "application/warc",
}


def build_schema() -> dict[str, Any]:
    """Return the OpenAPI document."""
    _, schemas = msgspec.json.schema_components(_RESPONSE_TYPES.values(), ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Topicrawl", "version": __version__, "description": "Collections of focused crawls."},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}, "schemas": schemas},
        "security": [{"token": []}, {}],
        "paths": {**_build_shared_paths(), **_build_collection_paths("/api/collections/{name}")},
    }


def _build_shared_paths() -> dict[str, Any]:
    """Return the paths that concern all collections."""
    fields = {"query": _STRING, "relevant": _STRING_LIST, "irrelevant": _STRING_LIST, "teach": {"type": "boolean"}}
    feedback = _build_post_operation("Give relevance feedback on search hits", "feedback", fields, "query")
    return {
        "/api/openapi.json": {"get": _build_operation("This description", "schema")},
        "/api/search": {"get": _build_operation("Search all collections", "search", *_search_parameters())},
        "/api/feedback": {"post": feedback},
        "/api/peer/{name}": {"post": _build_post_operation("Requests of other Topicrawl servers", "peer", {})},
        "/api/collections": {"get": _build_operation("All collections", "collections")},
        "/api/crawls": {"post": _build_body_operation("Start a crawl", "start", _CRAWL_FIELDS, "words", "seeds")},
    }


def _build_collection_paths(path: str) -> dict[str, Any]:
    """Return the paths of one collection."""
    url = _query_parameter("url", {"type": "string", "maxLength": 4000}, required=True)
    before = _query_parameter("before", {"type": "integer", "minimum": 0, "maximum": 1 << 40})
    number = {"type": "integer", "minimum": 0, "maximum": 999_999_999}
    verdict = {"type": "string", "enum": ["relevant", "irrelevant", "unsure", ""]}
    name = {"type": "string", "maxLength": 60}
    annotation = {"urls": _STRING_LIST, "verdict": verdict, "by": name}
    kinds = ["seed", "word", "block", "boost", "pause", "resume", "stop"]
    command = {"kind": {"type": "string", "enum": kinds}, "target": _STRING, "amount": {"type": "number"}}
    return {
        path: {"get": _build_operation("One collection: figures, failures, hosts", "collection", _name_parameter())},
        f"{path}/start": {"post": _build_post_operation("Resume a stopped crawl", "resume", {"pages": _PAGES})},
        f"{path}/export": {"get": _build_export_operation()},
        f"{path}/next": {
            "get": _build_operation(
                "The best waiting links and their scores", "next", _name_parameter(), _count_parameter()
            )
        },
        f"{path}/pages": {
            "get": _build_operation("Pages, newest first", "pages", _name_parameter(), before, _count_parameter())
        },
        f"{path}/page": {
            "get": _build_operation("The text of a page and the path to it", "page", _name_parameter(), url)
        },
        f"{path}/verdicts": {
            "post": _build_post_operation("Add a verdict on pages", "rule", annotation, "urls", "verdict")
        },
        f"{path}/shared-urls": {
            "post": _build_post_operation(
                "Add URLs from a crawl on another server; returns the topic",
                "share_urls",
                {"urls": {**_STRING_LIST, "minItems": 0}, "by": name},
                "urls",
            )
        },
        f"{path}/review": {
            "get": _build_operation("Review groups, and the pages to review", "review", _name_parameter()),
            "post": _build_post_operation("Add verdicts, and decide on groups", "add_review", _REVIEW_FIELDS),
        },
        f"{path}/agreement": {
            "get": _build_operation("Verdicts and agreement of the reviewers", "agreement", _name_parameter())
        },
        f"{path}/review.csv": {
            "get": _build_operation("The review sheet as CSV", "sheet", _name_parameter()),
            "post": _build_post_operation("Read a review sheet", "read_sheet", {"csv": _STRING}, "csv"),
        },
        f"{path}/undo": {"post": _build_post_operation("Undo an action, or the last one", "undo", {"action": number})},
        f"{path}/orders": {"post": _build_post_operation("Send a command to a crawl", "order", command, "kind")},
    }


def _name_parameter() -> dict[str, Any]:
    return {"name": "name", "in": "path", "required": True, "schema": _STRING}


def _query_parameter(name: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def _search_parameters() -> list[dict[str, Any]]:
    text = {"type": "string", "maxLength": MAX_QUERY_CHARS}
    flag: dict[str, Any] = {"type": "string", "enum": ["1"]}
    offset = {"type": "integer", "minimum": 0, "maximum": 1000}
    fields: dict[str, dict[str, Any]] = {
        "q": text,
        "like": text,
        "count": {"type": "integer", "minimum": 1, "maximum": 100},
        "offset": offset,
    }
    fields |= {"in": _STRING, "all": flag, "plain": flag, "facets": flag, "summaries": flag, "overlap": flag}
    return [_query_parameter(name, schema) for name, schema in fields.items()]


def _count_parameter() -> dict[str, Any]:
    return _query_parameter("count", {"type": "integer", "minimum": 1, "maximum": 200})


def _build_operation(summary: str, name: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    kind = _RESPONSE_TYPES.get(name)
    schema = _OBJECT if kind is None else {"$ref": f"#/components/schemas/{kind.__name__}"}
    responses = {
        "200": _build_response("success", schema),
        **{status: _build_response(text, _OBJECT) for status, text in _ERRORS.items()},
    }
    return {"summary": summary, "operationId": name, "parameters": list(parameters), "responses": responses}


def _build_response(text: str, schema: dict[str, str]) -> dict[str, Any]:
    return {
        "description": text,
        "content": {"application/json": {"schema": schema}, "text/plain": {"schema": _STRING}},
    }


def _build_post_operation(summary: str, name: str, fields: dict[str, Any], *required: str) -> dict[str, Any]:
    operation = _build_body_operation(summary, name, fields, *required)
    return {**operation, "parameters": [_name_parameter()]}


def _build_body_operation(summary: str, name: str, fields: dict[str, Any], *required: str) -> dict[str, Any]:
    """Return an operation with a JSON body and without parameters."""
    schema = {"type": "object", "properties": fields, "required": list(required)}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {**_build_operation(summary, name), "requestBody": body}


def _build_export_operation() -> dict[str, Any]:
    """Return the operation that exports a collection as a file."""
    fields: dict[str, dict[str, Any]] = {
        "format": {"type": "string", "enum": list(EXPORT_TYPES)},
        "text": {"type": "string", "enum": list(TextKind)},
        "all": {"type": "string", "enum": ["0", "1"]},
    }
    parameters = [_query_parameter(name, schema) for name, schema in fields.items()]
    operation = _build_operation("Export the relevant or all pages as a file", "export", _name_parameter(), *parameters)
    content = {kind.partition(";")[0]: {"schema": _STRING} for kind in EXPORT_TYPES.values()}
    operation["responses"]["200"] = {"description": "the file", "content": content}
    return operation
