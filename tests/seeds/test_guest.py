"""A seed provider of the user's own: held to what all providers promise."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from topicrawl.errors import SeedError
from topicrawl.records import Response
from topicrawl.seeds.choice import Access, providers
from topicrawl.seeds.provider import Answer

PROVIDERS = """
from topicrawl.seeds.provider import Answer, Hit

class Lists:
    name = "lists"
    def __init__(self, get, path: str = "/a"):
        self.get, self.path = get, path
    async def search(self, query, count):
        response = await self.get(f"http://lists.example{self.path}?{query}", {})
        if self.path == "/gone":
            raise OSError("the list\\nis gone")
        rows = [Hit("HTTP://A.example/#x", 7, "<b>A</b>"), Hit("javascript:1", 1), Hit(response.url, 2)]
        return [Answer("lists", tuple(rows))]

class Nameless(Lists):
    name = None

class Blocking:
    name = "blocking"
    def __init__(self, get):
        pass
    def search(self, query, count):
        return []

class Bare:
    name = "bare"
    async def search(self, query, count):
        return []
"""


async def get(url: str, headers: Mapping[str, str]) -> Response:
    return Response(url, url, 200)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_providers.py").write_text(PROVIDERS, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def answer(spec: str, count: int = 5) -> Answer:
    (provider,) = providers([spec], Access(get))
    (found,) = asyncio.run(_search(provider, count))
    return found


async def _search(provider: object, count: int) -> list[Answer]:
    return list(await provider.search("owls", count))  # type: ignore[attr-defined]


def test_its_addresses_get_their_one_form_and_their_ranks() -> None:
    found = answer("made_providers:Lists:path=/b")
    assert [(hit.url, hit.rank, hit.title) for hit in found.hits] == [
        ("http://a.example/", 1, "A"),
        ("http://lists.example/b?owls", 2, ""),
    ]
    assert len(answer("made_providers:Lists", 1).hits) == 1


def test_what_befalls_it_is_a_line_of_trouble() -> None:
    found = answer("made_providers:Lists:path=/gone")
    assert (found.engine, found.hits, found.trouble) == ("lists", (), "the list is gone")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("made_providers:Blocking", "async def search"),
        ("made_providers:Nameless", "has no name"),
        ("made_providers:Bare", "cannot be called with a way to ask the web"),
        ("made_providers:Lists:pith=x", "did you mean 'path'"),
        ("made_providers:None_such", "cannot load the seed provider"),
        ("nobody", "there is no engine 'nobody'"),
    ],
)
def test_what_is_no_provider_is_refused_in_one_line(spec: str, said: str) -> None:
    with pytest.raises(SeedError, match=said) as caught:
        providers([spec], Access(get))
    assert "\n" not in str(caught.value)
