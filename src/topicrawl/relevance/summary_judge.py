"""Relevance model `summary`: the relevance of a page is the relevance of its summary (Mohammadi, section 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from topicrawl.errors import SettingError
from topicrawl.models import JsonValue, Page, PageJudgement
from topicrawl.relevance.summary import PageSummary, Summariser
from topicrawl.relevance.summary_network import load_bundled_network
from topicrawl.relevance.topic_judge import TopicJudge
from topicrawl.relevance.vsm import Vsm
from topicrawl.text.tokenizer import tokenise


class SummaryJudge:
    """Relevance of the summary of a page, as a probability.

    The summary has no hidden, tiny or repeated text, so a page that hides the words of the topic is not relevant. The
    paper ranks pages by the similarity of their summaries, which has no upper bound and no threshold. This judge
    applies the default model (`topic_judge.py`) to the summary, and stores the similarity and the density of the paper
    as scores. A page without a summary has the relevance 0. The parser must extract styled sentences.
    """

    def __init__(self, vsm: Vsm) -> None:
        topic = vsm.topic
        network = load_bundled_network(topic.lexicon.language)
        if network is None:
            raise SettingError(
                f"--judge summary: there is no network for the language {topic.lexicon.language!r}: use another judge"
            )
        self._summariser = Summariser(topic, network)
        self._judge = TopicJudge(vsm)
        self._last_summary: tuple[Page, PageSummary, Page] | None = None

    def score(self, page: Page) -> float:
        """Return the probability that the summary of a page is about the topic."""
        summary, reduced = self._summarise(page)
        return self._judge.score(reduced) if summary.texts else 0.0

    def build_judgement(self, page: Page) -> PageJudgement:
        """Return the judgement on the summary, with its similarity and density."""
        summary, reduced = self._summarise(page)
        measured = {"summary similarity": round(summary.similarity, 4), "summary density": round(summary.density, 4)}
        if not summary.texts:
            return PageJudgement(scores=measured)
        judgement = self._judge.build_judgement(reduced)
        return replace(judgement, scores={**judgement.scores, **measured})

    def _summarise(self, page: Page) -> tuple[PageSummary, Page]:
        """Return the summary of a page, and a page with only this text. The last ones are cached."""
        last = self._last_summary
        if last is None or last[0] is not page:
            summary = self._summariser.summarise(page)
            text = "\n".join(summary.texts)
            reduced = replace(page, text=text, words=tuple(tokenise(text)), headings=(), sentences=())
            last = self._last_summary = page, summary, reduced
        return last[1], last[2]

    def observe(self, page: Page) -> None:
        """Take the summary of a fetched page into account."""
        summary, reduced = self._summarise(page)
        if summary.texts:
            self._judge.observe(reduced)

    def learn(self, page: Page, relevant: bool, *, weight: float = 1.0) -> None:
        """Learn from an annotation of a page, by its summary."""
        self._judge.learn(self._summarise(page)[1], relevant, weight=weight)

    def learn_examples(self, relevant: Iterable[Page], irrelevant: Iterable[Page]) -> None:
        """Learn from the summaries of the example pages."""
        self._judge.learn_examples(
            [self._summarise(page)[1] for page in relevant], [self._summarise(page)[1] for page in irrelevant]
        )

    def forget(self, url: str) -> None:
        """Discard the annotation of a page."""
        self._judge.forget(url)

    def export_sources(self) -> Mapping[str, JsonValue]:
        """Return the summaries that the judge learns from, for the other workers of a shared crawl."""
        return self._judge.export_sources()

    def add_sources(self, sources: Mapping[str, JsonValue]) -> None:
        """Also learn from summaries that another worker has exported."""
        self._judge.add_sources(sources)

    def get_state(self) -> JsonValue:
        """Return what the judge has learned from the pages of the crawl."""
        return self._judge.get_state()

    def restore_state(self, state: JsonValue) -> None:
        """Restore the values of `get_state`."""
        self._judge.restore_state(state)
