"""The OpenAPI document: its references resolve, and the schemas describe the response types."""

from __future__ import annotations

import json
from typing import Any

from topicrawl.search.models import Feedback, SearchHit, SearchResults
from topicrawl.web.crawl_figures import NextLink
from topicrawl.web.openapi import build_schema


def find_references(value: Any) -> set[str]:
    """Return all values of `$ref`."""
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*map(find_references, value.values()))
    return set().union(*map(find_references, value)) if isinstance(value, list) else set()


def test_every_reference_resolves() -> None:
    document = json.loads(json.dumps(build_schema()))
    names = {reference.removeprefix("#/components/schemas/") for reference in find_references(document)}
    assert names == set(document["components"]["schemas"])


def test_response_schemas_have_the_fields_of_the_types() -> None:
    schemas = build_schema()["components"]["schemas"]
    for kind in (SearchResults, SearchHit, Feedback, NextLink):
        assert list(schemas[kind.__name__]["properties"]) == list(kind.__struct_fields__)


def test_search_refers_to_its_response_type() -> None:
    operation = build_schema()["paths"]["/api/search"]["get"]
    content = operation["responses"]["200"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/SearchResults"}
