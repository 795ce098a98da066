"""One answer from many collections (Kluev 2000, section 3: the OASIS query server).

1. Every server says how much each of its collections has of what is looked for, and what it learned of such queries.
2. CORI chooses the collections that are asked; the others are left in peace.
3. Those answer with the statistics of all collections together, so that their scores mean the same.
4. The best of all answers is the answer; what several collections hold is one hit that names them all.

A server that does not answer is named with its trouble, and the others' answer stands.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from topicrawl.errors import TopicrawlError, UsageError
from topicrawl.search import cori
from topicrawl.search.answers import DEEPEST, MOST, Answer, Asked, Feedback, Hit, Overlap, Query
from topicrawl.search.feedback import identified, learned, rocchio
from topicrawl.search.index import NOTHING, Found
from topicrawl.search.overlap import overlaps
from topicrawl.search.query import parsed
from topicrawl.search.scoring import World
from topicrawl.search.servers import Here, Server, Summary

T = TypeVar("T")
SECONDS = 10.0  # that a server may take for each of its two answers


@dataclass
class _Candidate:
    """A collection on its way through a query."""

    server: Server
    summary: Summary
    belief: float = 0.0
    is_chosen: bool = False
    found: Found = NOTHING
    trouble: str = ""
    is_done: bool = False  # it has told what it found already

    @property
    def name(self) -> str:
        return f"{self.server.address}/{self.summary.name}" if self.server.address else self.summary.name

    def asked(self) -> Asked:
        pages = self.summary.world.pages
        return Asked(self.name, pages, round(self.belief, 4), self.is_chosen, self.found.pages, self.trouble)


async def answer(
    servers: Sequence[Server],
    query: Query,
    *,
    most: int | None = None,
    overlap: bool = False,
    seconds: float = SECONDS,
) -> Answer:
    """The best pages that the servers' collections hold; at most `most` collections are asked."""
    begun = time.perf_counter()
    if not (0 < query.count <= MOST and 0 <= query.offset <= DEEPEST):
        raise UsageError(f"hits are asked for in numbers from 1 to {MOST}, after at most {DEEPEST} others")
    asked = parsed(query)
    candidates, troubles = await _summaries(servers, query, seconds)
    if query.learned and (gained := learned(it for one in candidates for it in one.summary.feedback)):
        query = replace(query, weights={**gained, **query.weights}, learned=False)
        asked = parsed(query)
        # What was learned in one place is looked for everywhere.
        candidates, troubles = await _summaries(servers, query, seconds)
    weights = {part.key: weight for part, weight in asked.wanted.items()}
    worlds = [one.summary.world for one in candidates]
    world = World.of(worlds)
    for one, belief, is_chosen in zip(
        candidates, cori.beliefs(worlds, weights), _chosen(worlds, weights, most), strict=True
    ):
        one.belief, one.is_chosen = belief, is_chosen
        one.found = one.found if is_chosen else NOTHING
    await _ask(candidates, query, world, seconds)
    hits = folded(hit for one in candidates for hit in _named(one, world.most(weights)))
    common = await overlapping(servers, seconds=seconds) if overlap else ()
    return Answer(
        query,
        tuple(hits[query.offset : query.offset + query.count]),
        sum(one.found.pages for one in candidates),
        (*(one.asked() for one in sorted(candidates, key=lambda it: -it.belief)), *troubles),
        common,
        time.perf_counter() - begun,
    )


async def more_like(servers: Sequence[Server], url: str, *, count: int = 10, seconds: float = SECONDS) -> Answer:
    """Pages that say what this one says; it is itself not among them."""
    vectors = await _vectors(servers, [url], seconds)
    if not vectors:
        raise UsageError(f"{url} is in none of the collections")
    strongest = dict(list(vectors[0].items())[:25])
    return await answer(servers, Query("", count, 0, strongest, (url,), learned=False), seconds=seconds)


async def judge(
    servers: Sequence[Server], query: str, relevant: Sequence[str], irrelevant: Sequence[str], *, at: float
) -> Feedback:
    """Learn from hits that were right or wrong, and pass it on to every server that took part.

    The next answer to such a query is another one, on each of them.
    """
    groups = await asyncio.gather(*(_vectors(servers, urls, SECONDS) for urls in (relevant, irrelevant)))
    if not any(groups):
        raise UsageError("none of these pages is in any of the collections")
    terms = rocchio(query, *groups)
    feedback = identified(Feedback(query, tuple(relevant), tuple(irrelevant), terms, at=at))
    await asyncio.gather(*(_told(server, server.learn(feedback), SECONDS) for server in servers))
    return feedback


async def overlapping(servers: Sequence[Server], *, seconds: float = SECONDS) -> tuple[Overlap, ...]:
    """How much collections have in common, pair by pair."""
    found = await asyncio.gather(*(_told(server, server.sketches(), seconds) for server in servers))
    sketches = {
        f"{server.address}/{name}" if server.address else name: sketch
        for server, (many, _) in zip(servers, found, strict=True)
        for name, sketch in (many or {}).items()
    }
    return overlaps(sketches)


def folded(hits: Iterable[Hit]) -> list[Hit]:
    """Hits in the order of their scores, each text once.

    >>> one, two = Hit("http://a.example/", "A", 2.0, digest="x"), Hit("http://b.example/", "A", 1.0, digest="x")
    >>> [(hit.url, hit.copies) for hit in folded([two, one])]
    [('http://a.example/', ('http://b.example/',))]
    """
    kept: list[Hit] = []
    places: dict[str, int] = {}
    for hit in sorted(hits, key=lambda it: (-it.score, it.url)):
        at = places.get(hit.url, places.get(f"digest {hit.digest}") if hit.digest else None)
        if at is None:
            at = len(kept)
            kept.append(hit)
        else:
            first = kept[at]
            copies = dict.fromkeys(url for url in (*first.copies, hit.url, *hit.copies) if url != first.url)
            holders = dict.fromkeys((*first.collections, *hit.collections))
            kept[at] = replace(first, copies=tuple(copies), collections=tuple(holders))
        places[hit.url] = at
        if hit.digest:
            places[f"digest {hit.digest}"] = at
    return kept


def _chosen(worlds: Sequence[World], weights: dict[str, float], most: int | None) -> list[bool]:
    if not weights:
        return [True] * len(worlds)  # only filters: nobody can tell before
    return cori.chosen(worlds, weights, most=most)


async def _summaries(
    servers: Sequence[Server], query: Query, seconds: float
) -> tuple[list[_Candidate], tuple[Asked, ...]]:
    if len(servers) == 1 and isinstance(here := servers[0], Here):
        # Whose statistics are those of all needs no second question.
        answered, trouble = await _told(here, here.alone(_whole(query)), seconds)
        if answered is not None:
            summary, found = answered
            return [_Candidate(here, summary, found=found, trouble=summary.trouble, is_done=True)], ()
        if trouble:
            return [], (Asked("here", 0, 0.0, False, 0, trouble),)
    told = await asyncio.gather(*(_told(server, server.summaries(query), seconds) for server in servers))
    candidates, troubles = [], []
    for server, (summaries, trouble) in zip(servers, told, strict=True):
        candidates += [_Candidate(server, summary, trouble=summary.trouble) for summary in summaries or ()]
        if trouble:
            troubles.append(Asked(server.address or "here", 0, 0.0, False, 0, trouble))
    return candidates, tuple(troubles)


async def _ask(candidates: Sequence[_Candidate], query: Query, world: World, seconds: float) -> None:
    """Let the chosen collections answer. None names a text twice, so that as many as are wanted are enough of each."""
    wanted = _whole(query)
    by_server: dict[int, list[_Candidate]] = {}
    for one in candidates:
        if one.is_chosen and not one.is_done:
            by_server.setdefault(id(one.server), []).append(one)
    groups = list(by_server.values())
    told = await asyncio.gather(
        *(
            _told(server, server.search(wanted, [one.summary.name for one in group], world), seconds)
            for group in groups
            for server in (group[0].server,)
        )
    )
    for group, (found, trouble) in zip(groups, told, strict=True):
        for one in group:
            told_nothing = found is None or one.summary.name not in found
            one.trouble = trouble or ("it could not be searched" if told_nothing else "")
            one.found = NOTHING if found is None else found.get(one.summary.name, NOTHING)


def _whole(query: Query) -> Query:
    """The same from the first hit on: which ones are to be passed over shows when all are together."""
    return replace(query, count=query.offset + query.count, offset=0)


def _named(one: _Candidate, highest: float) -> Iterable[Hit]:
    """The hits of a collection under its name; nobody gets ahead by claiming a score that there cannot be."""
    return (replace(hit, score=min(hit.score, highest), collections=(one.name,)) for hit in one.found.hits)


async def _vectors(servers: Sequence[Server], urls: Sequence[str], seconds: float) -> list[dict[str, float]]:
    found = []
    for url in urls:
        told = await asyncio.gather(*(_told(server, server.vector(url), seconds) for server in servers))
        found += [vector for vector, _ in told if vector][:1]
    return found


async def _told(server: Server, asked: Awaitable[T], seconds: float) -> tuple[T | None, str]:
    """What a server said, or why it said nothing."""
    try:
        async with asyncio.timeout(seconds):
            return await asked, ""
    except TimeoutError:
        return None, f"no answer within {seconds:g} s"
    except UsageError:
        raise
    except TopicrawlError as error:
        return None, str(error).removeprefix(f"{server.address}: ")  # its name is shown beside it
