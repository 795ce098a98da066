"""Load a user's own relevance model: `module:Class[:parameter=value,…]`, called with the topic."""

from __future__ import annotations

from topicrawl import plugins
from topicrawl.errors import SettingError
from topicrawl.models import Page
from topicrawl.relevance.base import Relevance, SupportsForget
from topicrawl.topic import Topic


def load_judge_class(spec: str) -> tuple[type[Relevance], dict[str, object]]:
    """Load a judge class and its parameters. Raise `SettingError` if the class is not a relevance model."""
    if not plugins.is_plugin_spec(spec):
        raise SettingError(f"judge must name a class as module:Class, not {spec!r}")
    kind, text = plugins.load_class(spec, "judge", SettingError)
    missing = [name for name in ("score", "learn") if not callable(getattr(kind, name, None))]
    if missing:
        raise SettingError(f"{_get_class_name(kind)} is not a judge: add the method {' and the method '.join(missing)}")
    return kind, plugins.parse_parameters(text, plugins.inspect_parameters(kind), _get_class_name(kind), SettingError)


def load_judge(spec: str, topic: Topic) -> PluginJudge:
    """Create the judge for a topic from its `module:Class` specification."""
    kind, values = load_judge_class(spec)
    with plugins.report_errors(_get_class_name(kind)):
        try:
            # The protocol does not declare a constructor.
            judge: Relevance = kind(topic, **values)  # type: ignore[call-arg]
        except TypeError as error:
            raise SettingError(f"{_get_class_name(kind)} cannot be called with a topic: {error}") from error
    return PluginJudge(judge, _get_class_name(kind))


class PluginJudge:
    """Judge of the user that validates scores and caches the score of the last page.

    The crawler and the strategy both ask for the score of the same page.
    """

    def __init__(self, judge: Relevance, name: str) -> None:
        self.judge, self.name = judge, name
        self._cached_page: Page | None = None
        self._cached_score = 0.0

    def score(self, page: Page) -> float:
        """Return the relevance of a page. Raise `SettingError` if the judge returns an invalid score."""
        if page is not self._cached_page:
            self._cached_page, self._cached_score = page, self._compute_score(page)
        return self._cached_score

    def _compute_score(self, page: Page) -> float:
        with plugins.report_errors(self.name):
            score = self.judge.score(page)
        # The condition is written so that NaN fails too.
        if not (isinstance(score, int | float) and 0.0 <= score <= 1.0):
            raise SettingError(f"{self.name} returned the score {score!r} for {page.url}: a score is from 0 to 1")
        return float(score)

    def learn(self, page: Page, relevant: bool) -> None:
        """Pass a user's annotation to the judge."""
        self._cached_page = None
        with plugins.report_errors(self.name):
            self.judge.learn(page, relevant)

    def forget(self, url: str) -> None:
        """Discard an annotation, if the judge supports it."""
        self._cached_page = None
        if isinstance(self.judge, SupportsForget):
            with plugins.report_errors(self.name):
                self.judge.forget(url)


def _get_class_name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__name__}"
