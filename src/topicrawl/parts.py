"""The pieces that a crawl is put together from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from topicrawl.discoveries import Discoveries
from topicrawl.frontier.contract import Frontier
from topicrawl.placing import Fences, Outlink
from topicrawl.records import Fetch, Link, Page, Parse, Response, Twin, Unfolded, Visit
from topicrawl.relevance.model import Relevance
from topicrawl.strategies.strategy import Strategy


class Found(NamedTuple):
    """A visit with what hangs on it."""

    visit: Visit
    response: Response
    outlinks: Sequence[Outlink]


class Keep(Protocol):
    """Where visits go before the frontier forgets them."""

    def step_of(self, link: Link) -> int | None:
        """The step of a visit that was kept but not completed before a kill; it is made again under its number."""

    def keep(self, found: Sequence[Found]) -> None:
        """All of them, or none."""

    def settled(self) -> None:
        """What was kept is complete, and its consequences are drawn: a good moment to write down what was learned."""

    def retry(self, link: Link, response: Response, attempt: int) -> None:
        """An attempt that failed and will be made again."""


class Documents(Protocol):
    """Makes documents readable for the parser of web pages."""

    def wanted(self, response: Response) -> bool:
        """Whether a response is such a document; quick, as it is asked for every response."""

    async def unfolded(self, response: Response, link: Link) -> Unfolded:
        """The document made readable, while the loop goes on."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The pieces that a crawl is put together from."""

    frontier: Frontier
    fetch: Fetch
    parse: Parse
    relevance: Relevance
    strategy: Strategy
    keep: Keep
    clock: Callable[[], float]  # seconds since 1970
    fences: Fences = field(default_factory=Fences)  # which links may be followed
    delay_of: Callable[[str], float] | None = None  # what robots.txt asks for, by host
    documents: Documents | None = None  # makes readable what is no web page; None: it is refused
    more: Callable[[], Awaitable[bool]] | None = None  # waits a moment for links from elsewhere; False: none will come
    twin_of: Callable[[Page], Twin | None] | None = None  # the kept page that a page repeats; None: nobody looks
    # Tells the frontier of new scores; None: nobody but this crawl has a say in them.
    revised: Callable[[Mapping[str, float]], Awaitable[None]] | None = None
    explained: bool = True  # whether anybody will ask why a page was chosen
    discoveries: Discoveries | None = None  # what was found, to tell what is left; None: nobody asks
