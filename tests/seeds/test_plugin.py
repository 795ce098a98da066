"""Tests of a user's own seed provider."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from topicrawl.errors import SeedError
from topicrawl.models import Response
from topicrawl.seeds.engine_selection import EngineAccess, build_providers
from topicrawl.seeds.provider import EngineAnswer

PROVIDERS = """
from topicrawl.seeds.provider import EngineAnswer, EngineHit

class Lists:
    name = "lists"
    def __init__(self, get, path: str = "/a"):
        self.get, self.path = get, path
    async def search(self, query, count):
        response = await self.get(f"http://lists.example{self.path}?{query}", {})
        if self.path == "/gone":
            raise OSError("the list\\nis gone")
        rows = [
            EngineHit("HTTP://A.example/#x", 7, "<b>A</b>"),
            EngineHit("javascript:1", 1),
            EngineHit(response.url, 2),
        ]
        return [EngineAnswer("lists", tuple(rows))]

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


def answer(spec: str, count: int = 5) -> EngineAnswer:
    (provider,) = build_providers([spec], EngineAccess(get))
    (found,) = asyncio.run(_search(provider, count))
    return found


async def _search(provider: object, count: int) -> list[EngineAnswer]:
    return list(await provider.search("owls", count))  # type: ignore[attr-defined]


def test_urls_are_canonical_and_ranked() -> None:
    found = answer("made_providers:Lists:path=/b")
    assert [(hit.url, hit.rank, hit.title) for hit in found.hits] == [
        ("http://a.example/", 1, "A"),
        ("http://lists.example/b?owls", 2, ""),
    ]
    assert len(answer("made_providers:Lists", 1).hits) == 1


def test_network_error_is_a_failed_answer() -> None:
    found = answer("made_providers:Lists:path=/gone")
    assert (found.engine, found.hits, found.trouble) == ("lists", (), "the list is gone")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("made_providers:Blocking", "async def search"),
        ("made_providers:Nameless", "has no name"),
        ("made_providers:Bare", "cannot be called with an HTTP function"),
        ("made_providers:Lists:pith=x", "did you mean 'path'"),
        ("made_providers:None_such", "cannot load the seed provider"),
        ("unknown", "there is no engine 'unknown'"),
    ],
)
def test_invalid_provider_is_rejected_with_one_line(spec: str, message: str) -> None:
    with pytest.raises(SeedError, match=message) as caught:
        build_providers([spec], EngineAccess(get))
    assert "\n" not in str(caught.value)
