"""Query all search engines concurrently. Engines that miss the timeout have no vote."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from topicrawl.seeds.provider import EngineAnswer, SearchProvider

_TIMEOUT_FACTOR = 2  # timeout factor, because answers consist of several result pages


async def collect_answers(
    providers: Sequence[SearchProvider], query: str, count: int, timeout_seconds: float
) -> list[EngineAnswer]:
    """Return the answers of all engines, in the order of the providers. A provider may cover several engines."""

    async def query_provider(provider: SearchProvider) -> Sequence[EngineAnswer]:
        try:
            async with asyncio.timeout(_TIMEOUT_FACTOR * timeout_seconds):
                return await provider.search(query, count)
        except TimeoutError:
            return [EngineAnswer(provider.name, trouble=f"no answer within {_TIMEOUT_FACTOR * timeout_seconds:g} s")]

    results = await asyncio.gather(*map(query_provider, providers))
    return [answer for provider_answers in results for answer in provider_answers]
