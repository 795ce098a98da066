"""A judge of somebody else's: a class that is called with the topic, by its name `module:Class[:parameter=value,…]`."""

from __future__ import annotations

from topicrawl import outside
from topicrawl.errors import SettingError
from topicrawl.records import Page
from topicrawl.relevance.model import Forgetful, Relevance
from topicrawl.topic import Topic


def known(spec: str) -> tuple[type[Relevance], dict[str, object]]:
    """The class and its parameters; what is no judge is refused before any page is fetched."""
    if not outside.is_outside(spec):
        raise SettingError(f"judge takes a class of your own, as module:Class, not {spec!r}")
    kind, text = outside.loaded(spec, "judge", SettingError)
    missing = [name for name in ("score", "learn") if not callable(getattr(kind, name, None))]
    if missing:
        raise SettingError(f"{_name(kind)} is no judge: it has no method {' and no '.join(missing)}")
    return kind, outside.values(text, outside.parameters(kind), _name(kind), SettingError)


def make(spec: str, topic: Topic) -> Guest:
    """The judge of a topic."""
    kind, values = known(spec)
    try:
        # A protocol says nothing about how a class is called.
        judge: Relevance = kind(topic, **values)  # type: ignore[call-arg]
    except TypeError as error:
        raise SettingError(f"{_name(kind)} cannot be called with a topic: {error}") from error
    return Guest(judge, _name(kind))


class Guest:
    """Lets a judge's scores in when they are scores. Who keeps a page and who guides ask for the same one in turn."""

    def __init__(self, judge: Relevance, name: str) -> None:
        self.judge, self.name = judge, name
        self._page: Page | None = None
        self._score = 0.0

    def score(self, page: Page) -> float:
        if page is not self._page:
            self._page, self._score = page, self._scored(page)
        return self._score

    def _scored(self, page: Page) -> float:
        score = self.judge.score(page)
        # Written so that what is not a number fails too.
        if not (isinstance(score, int | float) and 0.0 <= score <= 1.0):
            raise SettingError(f"{self.name} gave {page.url} the score {score!r}: it must be from 0 to 1")
        return float(score)

    def learn(self, page: Page, relevant: bool) -> None:
        self._page = None
        self.judge.learn(page, relevant)

    def forget(self, url: str) -> None:
        self._page = None
        if isinstance(self.judge, Forgetful):
            self.judge.forget(url)


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__name__}"
