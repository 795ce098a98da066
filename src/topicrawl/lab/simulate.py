"""Simulate a crawl on a recorded web with the same crawl loop as a live crawl.

The simulation makes one fetch at a time, without delays or network connections, and the strategy sees only what it has
fetched. In a closed world, links that lead out of the recording are not offered to the frontier. In an open world each
such link costs one fetch, which fails. Trap detection is off, because a recording is finite. The directives noindex
and nofollow are ignored, because a simulation sends no requests to the hosts. Duplicate pages count as pages unless
`Task.distinct` is set (see `deduplication.py`). The visits depend only on the inputs, not on the hash seed or the time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from topicrawl import parse, strategies
from topicrawl.engine.context import CrawlContext
from topicrawl.engine.crawl import Crawl, build_seed_links
from topicrawl.engine.limits import CrawlLimits
from topicrawl.engine.link_filter import LinkFilter
from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.engine.sinks import NullSink
from topicrawl.errors import SeedError
from topicrawl.fetch.replay import Recording
from topicrawl.frontier.base import FrontierRules
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.lab.parsed_web import ParsedWeb
from topicrawl.models import LinkContextLevel, ParseFunction, Visit
from topicrawl.parse.parser_cache import ParserCache
from topicrawl.relevance.base import LearnsFromPages, Relevance
from topicrawl.relevance.judges import create_judge, needs_styles
from topicrawl.relevance.multilingual import build_vsm
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.training.training_data import get_example_pages
from topicrawl.text.bag_of_words import VocabularyCache
from topicrawl.text.embedding import BUILT_IN, load_vector_source
from topicrawl.topic import Topic


@dataclass(frozen=True)
class Task:
    """Configuration of one simulated crawl."""

    topic: Topic
    seeds: Sequence[str]
    strategy: str  # name or name:parameter=value, as on the command line
    fetches: int
    sessions: Sequence[Sequence[str]] = ()
    open_world: bool = False
    random_seed: int = 0
    judge: str = ""  # relevance model, as on the command line; "" for the default model
    embedding: str = BUILT_IN  # word vectors, as on the command line
    distinct: bool = False  # whether duplicate pages are rejected, as in a live crawl
    judgements: bool = False  # whether the visits have the judgements on their pages


async def simulate(web: Recording | ParsedWeb, task: Task) -> AsyncIterator[Visit]:
    """Run a simulated crawl and yield its visits in order.

    A `ParsedWeb` gives the same visits as the plain `Recording`, but faster.
    """
    crawl = prepare_crawl(web, task)
    try:
        await crawl.add_seeds(build_seed_links(task.seeds))
        async for visit in crawl.visits():
            yield visit
    finally:
        if isinstance(web, ParsedWeb):
            web.flush()


def prepare_crawl(web: Recording | ParsedWeb, task: Task) -> Crawl:
    """Build the crawl of a task and train its strategy. The crawl has not fetched anything yet."""
    for url in task.seeds:
        if not web.contains(url):
            raise SeedError(f"the seed {url} is not in the recorded web")
    strategy = strategies.create_strategy(task.strategy)
    inputs = SimulationInputs(
        task, styles=strategy.needs_styles or needs_styles(task.judge), context=strategy.link_context
    )
    vsm, training_data, parse_page = (
        inputs.build_for_parsed_web(web) if isinstance(web, ParsedWeb) else inputs.build_for_recording(web)
    )
    judge = create_judge(task.judge, vsm) if task.judge else None
    strategy.bind(StrategyContext(task.topic, vsm, Random(task.random_seed), judge=judge))
    strategy.fit(training_data)
    relevance: Relevance = TopicJudge(vsm) if judge is None else judge
    if isinstance(relevance, LearnsFromPages):
        relevance.learn_examples(*get_example_pages(training_data))
    deduplicating_sink = None
    if task.distinct:
        # Imported here, because deduplication needs numpy and most simulations do not.
        from topicrawl.lab.deduplication import DeduplicatingSink

        deduplicating_sink = DeduplicatingSink()
    context = CrawlContext(
        frontier=MemoryFrontier(FrontierRules(delay=0.0, parallel=0), lambda: 0.0),
        fetch=web,
        parse=parse_page,
        relevance=relevance,
        strategy=strategy,
        sink=deduplicating_sink or NullSink(),
        find_duplicate=deduplicating_sink.duplicates.find_duplicate if deduplicating_sink is not None else None,
        clock=lambda: 0.0,
        stores_score_parts=task.judgements,
        link_filter=LinkFilter(
            scope=None if task.open_world else lambda link: web.contains(link.url), obeys_directives=False
        ),
    )
    return Crawl(context, CrawlLimits(fetches=task.fetches, concurrency=1, attempts=1))


@dataclass(frozen=True)
class SimulationInputs:
    """Factory for the relevance model, the training data and the parser of a simulated crawl."""

    task: Task
    styles: bool
    context: LinkContextLevel | bool

    def build_for_recording(self, web: Recording) -> tuple[Vsm, RecordedTrainingData, ParseFunction]:
        """Return the components for a plain recording."""
        training_data = RecordedTrainingData(web, self.task.topic, self.task.sessions, styles=self.styles)
        cache = ParserCache()
        parse_page = partial(parse.parse_response, styles=self.styles, context=self.context, cache=cache)
        return self._build_vsm(cache.vocabularies), training_data, parse_page

    def build_for_parsed_web(self, web: ParsedWeb) -> tuple[Vsm, RecordedTrainingData, ParseFunction]:
        """Return the components for a parsed web. They use its cache of parsed pages."""
        training_data = web.build_training_data(self.task.topic, self.task.sessions, styles=self.styles)
        parse_page = partial(web.parse, styles=self.styles, context=self.context)
        return self._build_vsm(web.parser_cache.vocabularies), training_data, parse_page

    def _build_vsm(self, vocabularies: VocabularyCache) -> Vsm:
        return build_vsm(self.task.topic, vocabularies, vector_source=load_vector_source(self.task.embedding))
