"""Parse all pages of a crawl in child processes, so that one crawl uses several cores.

The crawl process fetches, judges and stores the pages, and schedules the links. Every page is parsed in the child
process with the fewest waiting pages. A page is the same as if the crawl process had parsed it. If a child process
fails or is killed, the crawl process parses the page, and the next page starts a new child process.

The crawl process needs two thirds of the time of parsing to send a page and to decode the result, so it is relieved of
the rest only. `docs/explanation/decisions/0029-parse-in-processes.md` has the measurement.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Self, TypeAlias

from topicrawl.models import Link, ParsedResponse, Response
from topicrawl.parse.child_process import ParseOptions
from topicrawl.parse.off_loop import SubprocessPageParser
from topicrawl.text.bag_of_words import VocabularyCache

_MAX_PAGES = 20_000  # pages per child process: starting one takes the time of two hundred pages


class ParserPool:
    """Child processes that parse all pages. One more process, with the same limits, parses the costly pages."""

    def __init__(self, count: int, vocabularies: VocabularyCache, options: ParseOptions | None = None) -> None:
        self.options = options or ParseOptions()
        self._costly_parser = SubprocessPageParser(vocabularies, self.options)
        self._parsers = [
            SubprocessPageParser(vocabularies, self.options, max_requests=_MAX_PAGES) for _ in range(count)
        ]
        self._waiting = [0] * count  # pages that each parser has not returned yet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all child processes; running requests are aborted."""
        with ExitStack() as stack:
            for parser in (self._costly_parser, *self._parsers):
                stack.callback(parser.close)

    @staticmethod
    def is_costly(response: Response) -> bool:
        """Return whether a response is parsed outside the event loop: every response without a failure."""
        return response.failure is None

    async def parse_page(self, response: Response, link: Link) -> ParsedResponse:
        """Parse a response in a child process. `link` is the link that led to the response.

        If the child process of an ordinary page fails, return the response without a page: the caller parses it.
        """
        if self._costly_parser.is_costly(response):
            return await self._costly_parser.parse_page(response, link)
        number = min(range(len(self._parsers)), key=self._waiting.__getitem__)
        self._waiting[number] += 1
        try:
            parsed = await self._parsers[number].parse_page(response, link)
        finally:
            self._waiting[number] -= 1
        return ParsedResponse(response) if parsed.page is None else parsed


#: Parser of the pages that a crawl parses in child processes.
PageParser: TypeAlias = SubprocessPageParser | ParserPool


def create_page_parser(processes: int, vocabularies: VocabularyCache, options: ParseOptions) -> PageParser:
    """Create the parser of a crawl with a number of processes. With one process, only costly pages have a child."""
    if processes == 1:
        return SubprocessPageParser(vocabularies, options)
    return ParserPool(processes - 1, vocabularies, options)
