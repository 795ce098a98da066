"""Tests of usage signals: licence, robots directives, text and data mining."""

from __future__ import annotations

import pytest

from topicrawl.models import Response
from topicrawl.parse.usage_signals import UsageSignals, extract_usage_signals, get_creative_commons_name

CC = "https://creativecommons.org/licenses/by-sa/4.0/"


def extract_signals(body: str, **headers: str) -> UsageSignals:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kind = named.pop("content-type", "text/html")
    return extract_usage_signals(
        Response("u", "http://a.example/d/page", 200, {"content-type": kind, **named}, body.encode())
    )


LICENCES = {
    "a link": (f'<link rel="License" href="{CC}">', CC, "rel"),
    "an anchor": ('<a rel="nofollow license" href="../terms">x</a>', "http://a.example/terms", "rel"),
    "meta": ('<meta name="DCTERMS.license" content="CC BY 4.0">', "CC BY 4.0", "meta"),
    "linked data": (f'<script type="application/ld+json">{{"license": "{CC}"}}</script>', CC, "json-ld"),
    "linked data in a graph": (
        f'<script type="application/ld+json">{{"@graph": [{{"license": {{"@id": "{CC}"}}}}]}}</script>',
        CC,
        "json-ld",
    ),
    "broken linked data": ('<script type="application/ld+json">{"license": </script>', "", ""),
    "deep linked data": (f'<script type="application/ld+json">{"[" * 100_000} license</script>', "", ""),
    "an address of Creative Commons": (f'<p><a href="{CC}">some rights</a>', CC, "link"),
    "a relation before a mere address": (
        f'<a href="{CC}">x</a><a rel=license href="/ours">y</a>',
        "http://a.example/ours",
        "rel",
    ),
    "none": ("<p>licence to kill</p>", "", ""),
}


@pytest.mark.parametrize(("body", "licence", "origin"), LICENCES.values(), ids=LICENCES)
def test_a_licence_is_found_in_all_supported_places(body: str, licence: str, origin: str) -> None:
    found = extract_signals(body)
    assert (found.licence, found.licence_from) == (licence, origin)


def test_a_licence_text_is_truncated() -> None:
    assert len(extract_signals(f'<meta name=license content="{"x" * 5000}">').licence) == 300


def test_robots_directives_of_header_and_page_are_combined() -> None:
    found = extract_signals(
        '<meta name="ROBOTS" content="NoAI,  noimageai">', x_robots_tag="nofollow, googlebot: noindex"
    )
    assert found.robots == ("noai", "nofollow", "noimageai")


@pytest.mark.parametrize(
    ("body", "headers", "reserved", "policy"),
    [
        ("", {"tdm_reservation": "1", "tdm_policy": "/p.json"}, True, "http://a.example/p.json"),
        ('<meta name="tdm-reservation" content="1">', {}, True, ""),
        ('<meta name="tdm-reservation" content="0">', {"tdm_reservation": "1"}, False, ""),
        ('<meta name="tdm-reservation" content="maybe">', {}, None, ""),
        ("<p>nothing</p>", {}, None, ""),
    ],
    ids=["header", "meta", "the page has the last word", "neither 0 nor 1", "not said"],
)
def test_the_tdm_reservation_is_read(body: str, headers: dict[str, str], reserved: bool | None, policy: str) -> None:
    found = extract_signals(body, **headers)
    assert (found.tdm_reserved, found.tdm_policy) == (reserved, policy)


def test_other_media_types_use_only_their_headers() -> None:
    found = extract_signals(f'<link rel="license" href="{CC}">', content_type="text/plain", x_robots_tag="noai")
    assert (found.licence, found.robots) == ("", ("noai",))


@pytest.mark.parametrize(
    ("licence", "name"),
    [
        ("https://creativecommons.org/licenses/by/3.0/us/", "CC BY 3.0"),
        ("http://www.creativecommons.org/publicdomain/mark/1.0/", "Public Domain Mark 1.0"),
        ("https://creativecommons.org/licenses/BY-NC-ND/2.5", "CC BY-NC-ND 2.5"),
        ("https://creativecommons.org/about", ""),
        ("MIT", ""),
    ],
)
def test_creative_commons_licences_have_short_names(licence: str, name: str) -> None:
    assert get_creative_commons_name(licence) == name
