"""The strategy and the judge of a crawl, and their training."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random

from topicrawl import strategies
from topicrawl.builder.inputs import CrawlInputs
from topicrawl.cluster.worker_session import WorkerSession
from topicrawl.documents.messages import ConversionLimits
from topicrawl.documents.reader import SubprocessDocumentReader
from topicrawl.engine.checkpoint import Checkpoint
from topicrawl.engine.http_setup import build_http_settings, open_fetcher
from topicrawl.engine.recorded_training_data import RecordedTrainingData
from topicrawl.errors import SettingError
from topicrawl.fetch.replay import Recording
from topicrawl.relevance.base import LearnsFromPages, Relevance
from topicrawl.relevance.judges import create_judge, needs_styles
from topicrawl.relevance.multilingual import MultilingualVsm
from topicrawl.seeds.clients import build_engine_access
from topicrawl.seeds.engine_queries import collect_answers
from topicrawl.seeds.engine_selection import build_text_providers
from topicrawl.seeds.example_fetcher import ExampleFetcher
from topicrawl.seeds.page_queries import MAX_BACKLINKS
from topicrawl.seeds.provider import EngineAnswer, SearchProvider
from topicrawl.seeds.search_engine_cache import SearchEngineCache
from topicrawl.sessions import read_labelled_sessions
from topicrawl.settings import Settings
from topicrawl.strategies.base import Strategy, StrategyContext
from topicrawl.strategies.training.training_data import TrainingData, UrlsOnlyTrainingData, get_example_pages
from topicrawl.text.embedding import load_vector_source
from topicrawl.topic import Topic


@dataclass(frozen=True, slots=True)
class CrawlLearners:
    """The strategy and the judge of a crawl, and the search engines that supply training data and descriptions."""

    topic: Topic
    settings: Settings
    strategy: Strategy
    judge: Relevance
    engines: Sequence[SearchProvider]  # empty unless the settings ask for backlinks or descriptions
    engine_cache: SearchEngineCache

    @property
    def needs_styles(self) -> bool:
        """Whether the strategy or the judge uses the computed styles of pages."""
        return self.strategy.needs_styles or needs_styles(self.settings.judge)

    async def train(self) -> None:
        """Train the strategy and the judge for a new crawl."""
        training = await self._load_training_data()
        self.strategy.fit(training)
        if isinstance(self.judge, LearnsFromPages):
            self.judge.learn_examples(*get_example_pages(training))

    async def restore_or_train(
        self, checkpoint: Checkpoint, session: WorkerSession | None, *, is_trained: bool
    ) -> None:
        """Restore the learned state of an earlier run, or train the strategy and save the first checkpoint.

        `is_trained` says whether the strategy has already been trained in this run. In a shared crawl, the state of
        the first worker is restored instead of training, and the first worker publishes it.
        """
        if await checkpoint.restore():
            return
        if not is_trained and (session is None or not await session.restore_trained_state(self.strategy)):
            await self.train()
            is_trained = True
        if is_trained and session is not None:
            await session.publish_trained_state(self.strategy)
        # The next run restores this checkpoint instead of training again.
        await checkpoint.save_initial()

    async def _load_training_data(self) -> TrainingData:
        """Return the training data of a new crawl: examples, browsing sessions and a recorded web."""
        topic, settings = self.topic, self.settings
        walks: Sequence[Sequence[str]] = ()
        if settings.sessions:
            labelled = read_labelled_sessions(Path(settings.sessions))
            walks, topic = labelled.click_paths, topic.with_examples(labelled.relevant, labelled.irrelevant)
        source: str | Path | None = settings.learn_from
        if not source and settings.back_links and (topic.relevant or topic.irrelevant):
            source = await self._fetch_examples(topic)
        if not source:
            return UrlsOnlyTrainingData(topic.relevant, topic.irrelevant, walks)
        return RecordedTrainingData(Recording(source), topic, walks, styles=self.needs_styles)

    async def _fetch_examples(self, topic: Topic) -> Path | None:
        """Fetch the example pages and the pages that link to them into a recording; return its path."""
        settings, cache = self.settings, self.engine_cache

        async def query_engines(query: str) -> Sequence[EngineAnswer]:
            return await collect_answers(self.engines, query, MAX_BACKLINKS, settings.timeout)

        async with open_fetcher(settings) as polite:
            with open_document_reader(settings) as documents:
                fetcher = ExampleFetcher(cache.directory, polite, query_engines, cache, settings.back_links, documents)
                return await fetcher.fetch_examples(topic.relevant, topic.irrelevant)


def create_learners(inputs: CrawlInputs) -> CrawlLearners:
    """Create the strategy and the judge that the settings name, untrained."""
    topic, settings = inputs.topic, inputs.settings
    strategy = strategies.create_strategy(settings.strategy)
    engine_cache, engines = SearchEngineCache(inputs.directory, inputs.election), _select_engines(settings, strategy)
    vsm = MultilingualVsm(topic, vector_source=load_vector_source(settings.embedding))
    judge = create_judge(settings.judge, vsm)
    strategy.bind(
        StrategyContext(
            topic,
            vsm,
            Random(0),
            engine_cache.get_description,
            judge=None if settings.has_similarity_judge else judge,
            has_cosine_judge=settings.has_cosine_judge,
        )
    )
    return CrawlLearners(topic, settings, strategy, judge, engines, engine_cache)


def open_document_reader(settings: Settings) -> AbstractContextManager[SubprocessDocumentReader | None]:
    """Open the reader of office documents and PDF files, or none if the settings exclude them."""
    limits = ConversionLimits(settings.max_bytes, settings.document_seconds)
    return SubprocessDocumentReader(limits) if settings.documents else nullcontext()


def _select_engines(settings: Settings, strategy: Strategy) -> list[SearchProvider]:
    """Return the search engines for backlink and description queries; empty unless the settings ask for them."""
    if settings.descriptions and not hasattr(strategy, "rescore_with_description"):
        raise SettingError(f"{strategy.name} does not use descriptions: remove --descriptions, or use --strategy hati")
    if not settings.back_links and not settings.descriptions:
        return []
    return build_text_providers(settings.engine, build_engine_access(build_http_settings(settings), settings.searxng))
