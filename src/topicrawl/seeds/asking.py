"""Asks all engines at once; whoever is late has no vote."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from topicrawl.seeds.provider import Answer, Provider

_TURNS = 2  # answers come in pages, each of which may take its time


async def answers(providers: Sequence[Provider], query: str, count: int, seconds: float) -> list[Answer]:
    """What each engine answers, in the order of the providers; a provider may speak for several engines."""

    async def asked(provider: Provider) -> Sequence[Answer]:
        try:
            async with asyncio.timeout(_TURNS * seconds):
                return await provider.search(query, count)
        except TimeoutError:
            return [Answer(provider.name, trouble=f"no answer within {_TURNS * seconds:g} s")]

    found = await asyncio.gather(*map(asked, providers))
    return [answer for several in found for answer in several]
