"""Records of a crawl: frozen, comparable, and usable in other processes."""

from __future__ import annotations

import pickle
from copy import deepcopy

import pytest
from msgspec.structs import replace

from topicrawl.frontier.base import Lease
from topicrawl.models import Failure, Link, Page, Priority, RedirectHop, Response, Sentence, Style, Visit

LINK = Link("http://a.example/", "http://b.example/", "an anchor", before=("one", "two"), depth=2)
RECORDS = [
    LINK,
    Response(
        "http://a.example/",
        "http://c.example/",
        200,
        {"content-type": "text/html"},
        b"x",
        hops=(RedirectHop("u", 301),),
    ),
    Page("http://a.example/", "title", words=("a",), sentences=(Sentence("a", 0, Style(hidden=True)),), links=(LINK,)),
    Visit(3, LINK, Priority(0.5, {"level": 2}, (("known", 0.5),)), "http://a.example/", None, None, Failure.DNS),
    Lease(LINK, Priority(0.5), "a.example", 7, 1, 60.0),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_survives_a_transfer_to_another_process(record: object) -> None:
    assert pickle.loads(pickle.dumps(record)) == record == deepcopy(record)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_cannot_be_changed(record: object) -> None:
    name = record.__struct_fields__[0]  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        setattr(record, name, "x")


def test_equal_records_have_equal_hashes() -> None:
    same = Link("http://a.example/", "http://b.example/", anchor="an anchor", before=("one", "two"), depth=2)
    assert same == LINK
    assert hash(same) == hash(LINK)
    assert len({same, LINK, replace(LINK, depth=3)}) == 2


def test_a_copy_with_changes_keeps_the_other_fields() -> None:
    moved = replace(LINK, url="http://d.example/")
    assert (moved.url, moved.source, moved.before, moved.depth) == ("http://d.example/", LINK.source, LINK.before, 2)
    assert LINK.url == "http://a.example/"


def test_records_do_not_share_default_headers() -> None:
    assert Response("u", "u").headers is not Response("u", "u").headers
