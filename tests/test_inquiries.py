"""A defect in asking engines ends a crawl's questions loudly, not silently."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from topicrawl.collection.told import PARENTS, Told
from topicrawl.inquiries import Inquiries
from topicrawl.seeds.provider import Answer


class Defect(Exception):
    """What no provider should raise."""


class Defective:
    name = "defective"

    async def search(self, query: str, count: int) -> Sequence[Answer]:
        raise Defect(query)


async def asked(directory: Path, *, fails: bool) -> None:
    async with Inquiries([Defective()], Told(directory), back_links=1) as inquiries:
        inquiries._ask(PARENTS, "http://a.example/", 1.0)
        await asyncio.wait([inquiries._task])
        if fails:
            raise KeyError("the crawl's own")


def test_a_defect_is_told_when_the_crawl_ends(tmp_path: Path) -> None:
    with pytest.raises(Defect):
        asyncio.run(asked(tmp_path, fails=False))


def test_an_error_of_the_crawl_comes_first_and_the_defect_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "topicrawl"), pytest.raises(KeyError):
        asyncio.run(asked(tmp_path, fails=True))
    assert "Defect" in caplog.text
