"""Tests of NB2, NB4, updatable and ordered: Safran et al. 2012."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from tests.helpers.training_data import SampleTrainingData, build_page, build_url

from topicrawl.errors import StrategyError
from topicrawl.models import Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import create_strategy
from topicrawl.strategies.base import StrategyContext
from topicrawl.strategies.nb import Nb4
from topicrawl.strategies.training.training_data import TrainingData, UrlsOnlyTrainingData
from topicrawl.topic import Topic

TOPIC = Topic.of("dengue fever mosquito")
#: Words around a link and on its page that make naive Bayes predict yes or no with the training set below.
YES, NO = "dengue fever mosquito", "railway station"
TRAINING = """\
keyword\tdengue\t1
keyword\tfever\t1
keyword\tmosquito\t1
url\turl_words\tanchor\tparents\tsurrounding\tlabel\torigin
http://a/1\t1\t1\t1\t1\trelevant\tmade
http://a/2\t1\t1\t1\t1\trelevant\tmade
http://a/3\t0\t0\t0\t0\tirrelevant\tmade
http://a/4\t0\t0\t0\t0\tirrelevant\tmade
"""


@dataclass
class Some:
    """Training data with a part of the synthetic pages."""

    relevant: Sequence[str]
    irrelevant: Sequence[str]
    sessions: Sequence[Sequence[str]] = ()
    lonely: bool = False  # whether the examples have no in-links

    def get_page(self, url: str) -> Page | None:
        return SampleTrainingData().get_page(url)

    def get_parents(self, url: str, limit: int = 5) -> Sequence[Link]:
        return () if self.lonely else SampleTrainingData().get_parents(url, limit)


def bind_strategy(spec: str, material: TrainingData | None = None, topic: Topic = TOPIC) -> Nb4:
    strategy = create_strategy(spec)
    assert isinstance(strategy, Nb4)
    strategy.bind(StrategyContext(topic, Vsm(topic), Random(0)))
    strategy.fit(material or SampleTrainingData())
    return strategy


@pytest.fixture
def training(tmp_path: Path) -> str:
    path = tmp_path / "training.tsv"
    path.write_text(TRAINING, "utf-8")
    return str(path)


def visit(url: str = "http://a/", place: Priority | None = None, words: str = "") -> Visit:
    return Visit(1, Link(url), place or Priority(1.0), url, Page(url, words=tuple(words.split())), 0.0)


def score_single_link(strategy: Nb4, anchor: str, at: Visit, url: str = "http://b/x") -> Priority | None:
    near = tuple(anchor.split())
    (place,) = strategy.score_links([Link(url, at.url, anchor, before=near)], at)
    return place


def part(place: Priority | None, name: str) -> float:
    assert place is not None
    return dict(place.parts)[name]


def test_accepted_links_are_first_in_first_out(training: str) -> None:
    strategy = bind_strategy(f"nb4:training={training}")
    relevant, other = (
        score_single_link(strategy, YES, visit(words=YES)),
        score_single_link(strategy, NO, visit(words=NO)),
    )
    assert part(relevant, "posterior") > 0.5 > part(other, "posterior")
    assert relevant is not None
    assert other is not None
    assert relevant.score == other.score == 1.0


def test_two_irrelevant_pages_in_a_row_are_fetched_and_a_third_is_not(training: str) -> None:
    """Figure 5, lines 14 to 18: limit 3 with "<"."""
    strategy = bind_strategy(f"nb4:training={training}")
    first = score_single_link(strategy, NO, visit(words=NO))
    second = score_single_link(strategy, NO, visit(place=first, words=NO))
    assert [part(place, "level") for place in (first, second)] == [1.0, 2.0]
    assert score_single_link(strategy, NO, visit(place=second, words=NO)) is None


def test_with_reserve_a_third_irrelevant_page_waits_at_the_end(training: str) -> None:
    strategy = bind_strategy(f"nb4:training={training},reserve=yes")
    scores, levels = [], []
    place: Priority | None = None
    for _ in range(3):
        place = score_single_link(strategy, NO, visit(place=place, words=NO))
        assert place is not None
        scores.append(place.score)
        levels.append(part(place, "level"))
    assert (scores, levels) == ([1.0, 1.0, 0.0], [1.0, 2.0, 3.0])


def test_a_relevant_page_resets_the_counter(training: str) -> None:
    """Figure 5, line 9."""
    strategy = bind_strategy(f"nb4:training={training}")
    first = score_single_link(strategy, NO, visit(words=NO))
    second = score_single_link(strategy, NO, visit(place=first, words=NO))
    relevant = score_single_link(strategy, YES, visit(place=second, words=YES))
    assert [part(place, "level") for place in (first, second, relevant)] == [1.0, 2.0, 0.0]
    assert part(score_single_link(strategy, NO, visit(place=relevant, words=NO)), "level") == 1.0


@pytest.mark.parametrize(("limit", "scores"), [(1, [0.0, 0.0]), (2, [1.0, 0.0])])
def test_the_limit_is_a_parameter(training: str, limit: int, scores: list[float]) -> None:
    strategy = bind_strategy(f"nb4:training={training},reserve=yes,limit={limit}")
    first = score_single_link(strategy, NO, visit(words=NO))
    second = score_single_link(strategy, NO, visit(place=first, words=NO))
    assert [place.score for place in (first, second) if place] == scores


def test_without_reserve_given_up_links_are_not_followed(training: str) -> None:
    strategy = bind_strategy(f"nb4:training={training},limit=1")
    assert score_single_link(strategy, NO, visit(words=NO)) is None
    assert score_single_link(strategy, YES, visit(words=YES)) is not None


def test_later_pages_can_raise_a_given_up_url(training: str) -> None:
    """A URL is classified by all pages that link to it before the fetch."""
    strategy = bind_strategy(f"nb4:training={training},limit=1,reserve=yes")
    waiting = score_single_link(strategy, NO, visit("http://a/1", words=NO))
    later = score_single_link(strategy, YES, visit("http://a/2", words=YES))
    assert waiting is not None
    assert later is not None
    assert waiting.score == 0.0
    together = strategy.merge(waiting, later)
    assert (together.score, part(together, "level")) == (1.0, 0.0)


def test_anchors_of_several_pages_are_merged(training: str) -> None:
    strategy = bind_strategy(f"nb2:training={training}")
    parts = [score_single_link(strategy, word, visit(f"http://a/{word}")) for word in YES.split()]
    together = parts[0]
    for other in parts[1:]:
        assert together is not None
        assert other is not None
        together = strategy.merge(together, other)
    assert [round(part(place, "anchor"), 3) for place in (parts[0], together)] == [0.577, 1.0]


def test_the_sixth_page_is_ignored(training: str) -> None:
    strategy = bind_strategy(f"nb4:training={training},limit=1,reserve=yes")
    place = score_single_link(strategy, NO, visit(words=NO))
    yes = score_single_link(strategy, YES, visit(words=YES))
    assert place is not None
    assert yes is not None
    for _ in range(4):
        place = strategy.merge(place, place)
    assert strategy.merge(place, yes).score == 0.0


def test_the_smallest_level_counter_of_several_pages_applies(training: str) -> None:
    strategy = bind_strategy(f"nb4:training={training},reserve=yes")
    first = score_single_link(strategy, NO, visit(words=NO))
    long_way = score_single_link(
        strategy, NO, visit(place=score_single_link(strategy, NO, visit(place=first, words=NO)), words=NO)
    )
    short_way = score_single_link(strategy, NO, visit("http://c/", words=NO))
    assert long_way is not None
    assert short_way is not None
    assert (long_way.score, strategy.merge(long_way, short_way).score) == (0.0, 1.0)


def test_a_waiting_seed_keeps_its_priority(training: str) -> None:
    strategy = bind_strategy(f"nb4:training={training}")
    (seed,) = strategy.score_seeds([Link("http://b/x")])
    new = score_single_link(strategy, NO, visit(words=NO))
    assert new is not None
    assert strategy.merge(seed, new) == seed


def test_ordered_sorts_by_the_posterior(training: str) -> None:
    strategy = bind_strategy(f"nb4_ordered:training={training}")
    relevant, other = (
        score_single_link(strategy, YES, visit(words=YES)),
        score_single_link(strategy, NO, visit(words=NO)),
    )
    assert relevant is not None
    assert other is not None
    assert relevant.score == part(relevant, "posterior") > other.score == part(other, "posterior") > 0


def test_examples_of_irrelevant_pages_are_not_followed() -> None:
    """Figure 5, lines 1 and 5: they are in IRT from the start."""
    made = SampleTrainingData()
    strategy = bind_strategy("nb4", made, TOPIC.with_examples(made.relevant, made.irrelevant))
    known, other = Link(build_url("railway", 3), anchor="a train"), Link("http://made/new", anchor="a train")
    assert [place is None for place in strategy.score_links([known, other], visit())] == [True, False]


SPECS = [
    "nb2",
    "nb4",
    "nb4_ordered",
    "nb4:guide=svm",
    "nb4:guide=nn",
    "nb4:weighting=tf_idf",
    "nb4:weighting=tf_seed_idf",
]


@pytest.mark.parametrize("spec", SPECS)
def test_links_are_classified_after_training_on_examples(spec: str) -> None:
    strategy = bind_strategy(spec)
    page = build_page("dengue", 1)
    at = Visit(1, Link(page.url), Priority(1.0), page.url, page, 1.0)
    for link, place in zip(page.links, strategy.score_links(page.links, at), strict=True):
        assert (part(place, "posterior") > 0.5) == ("dengue" in link.url)


def test_the_keyword_table_comes_from_the_relevant_examples() -> None:
    strategy = bind_strategy("nb4:k=3")
    assert list(strategy.exact_table.words) == ["fever", "dengue", "mosquito"]


def test_the_training_set_file_defines_the_weighting(tmp_path: Path) -> None:
    path = tmp_path / "training.tsv"
    path.write_text("counted\ttf\t1\n" + TRAINING, "utf-8")
    at = visit(words="train train dengue")
    assert part(score_single_link(bind_strategy(f"nb4:training={path}"), "x", at), "parents") == 0
    path.write_text("counted\ttf\t2\n" + TRAINING, "utf-8")
    assert part(score_single_link(bind_strategy(f"nb4:training={path}"), "x", at), "parents") > 0


def test_printed_thresholds_are_an_option() -> None:
    """The thresholds of the paper fit its topic, so they are tuned on the training set by default."""
    assert bind_strategy("nb4:tune=no").classifier.thresholds == (0.30, 0.75, 0.60, 0.60)
    assert bind_strategy("nb4").classifier.thresholds != (0.30, 0.75, 0.60, 0.60)


#: Table 1 of the paper as the keyword lines of a training set.
TABLE_1 = (
    "stock 1 market .78012 quote .42771 finance .355421 trade .322289 invest .268072 exchange .243975 price .225903"
)
TABLE_1 += " business .135542 bank .13253 chart .13253 economy .129518 money .126506"


@pytest.mark.parametrize(
    ("url", "parameters", "printed", "value"),
    [
        # "NYSE" is a synonym of "New York Stock Exchange". The printed value is that of "stock" alone.
        ("http://www.nyse.com/", "", 0.66, 0.680),
        # The host is a compound. With a fourteenth keyword of weight .25 (number 7 is missing), the value is .51.
        ("http://www.worldmarket.com/", "", 0.51, 0.515),
        # Neighbours of "finance" in WordNet are investment, banking and business.
        ("http://finance.yahoo.com/", ",neighbours=yes", 0.32, 0.320),
        ("http://finance.yahoo.com/", "", 0.32, 0.235),
    ],
)
def test_url_words_of_table_2(tmp_path: Path, url: str, parameters: str, printed: float, value: float) -> None:
    path = tmp_path / "stock.tsv"
    numbers = TABLE_1.split()
    keywords = "".join(f"keyword\t{word}\t{weight}\n" for word, weight in zip(numbers[::2], numbers[1::2], strict=True))
    path.write_text(keywords + TRAINING.partition("mosquito\t1\n")[2], "utf-8")
    strategy = bind_strategy(f"nb4:training={path}{parameters}")
    measured = part(score_single_link(strategy, "", visit(), url), "url_words")
    assert measured == pytest.approx(value, abs=0.001)
    assert measured == pytest.approx(printed, abs=0.09)


def test_long_parents_do_not_dominate_the_evidence(tmp_path: Path) -> None:
    """Counts on parent pages are per thousand words, so each parent has the same weight."""
    path = tmp_path / "training.tsv"
    path.write_text(TRAINING, "utf-8")
    long, short = visit("http://a/1", words="fever " * 90), visit("http://a/2", words="dengue")
    values = []
    for normalise in ("no", "yes"):
        strategy = bind_strategy(f"nb4:training={path},normalise={normalise}")
        one, two = (score_single_link(strategy, "x", at) for at in (long, short))
        assert one is not None
        assert two is not None
        values.append(part(strategy.merge(one, two), "parents"))
    assert values == pytest.approx([0.5837, 0.8165], abs=1e-4)


def test_related_words_count_in_urls_and_anchors(tmp_path: Path) -> None:
    path = tmp_path / "cars.tsv"
    path.write_text(TRAINING.replace("dengue", "car").replace("fever", "road").replace("mosquito", "wheel"), "utf-8")
    with_them, without = (bind_strategy(f"nb4:training={path},wordnet={answer}") for answer in ("yes", "no"))
    assert part(score_single_link(with_them, "automobile", visit()), "anchor") > 0
    assert part(score_single_link(without, "automobile", visit()), "anchor") == 0


# Updatable training set


def crawl_pages(strategy: Nb4, steps: range) -> list[float]:
    """Visit irrelevant pages whose anchors contain the topic, and some relevant pages with other anchors. Return the
    posteriors.
    """
    posteriors = []
    for step in steps:
        place = score_single_link(
            strategy, YES if step % 3 else NO, visit(words=YES if step % 3 else NO), f"http://b/{step}"
        )
        strategy.learn(visit(f"http://b/{step}", place, words=NO if step % 3 else YES))
        posteriors.append(part(score_single_link(strategy, YES, visit(words=YES)), "posterior"))
    return posteriors


def test_visited_pages_change_predictions(training: str) -> None:
    posteriors = crawl_pages(bind_strategy(f"nb4_updatable:training={training},every=5"), range(60))
    assert posteriors[0] > 0.5 > posteriors[-1]


def test_irrelevant_pages_alone_change_nothing(training: str) -> None:
    strategy = bind_strategy(f"nb4_updatable:training={training},every=1")
    before = part(score_single_link(strategy, YES, visit(words=YES)), "posterior")
    for step in range(20):
        strategy.learn(visit(f"http://b/{step}", score_single_link(strategy, NO, visit(words=NO)), words=NO))
    assert part(score_single_link(strategy, YES, visit(words=YES)), "posterior") == before


def test_a_fixed_training_set_does_not_change(training: str) -> None:
    assert len(set(crawl_pages(bind_strategy(f"nb4:training={training}"), range(30)))) == 1


@pytest.mark.parametrize("guide", ["nb", "svm", "nn"])
def test_a_resumed_crawl_learns_the_same(training: str, guide: str) -> None:
    spec = f"nb4_updatable:training={training},every=7,most=20,guide={guide}"
    through, before = bind_strategy(spec), bind_strategy(spec)
    whole = crawl_pages(through, range(50))
    crawl_pages(before, range(23))
    after = create_strategy(spec)
    assert isinstance(after, Nb4)
    after.bind(StrategyContext(TOPIC, Vsm(TOPIC), Random(9)))
    after.restore_state(json.loads(json.dumps(before.get_state())))
    assert crawl_pages(after, range(23, 50)) == whole[23:]
    assert json.dumps(after.get_state()) == json.dumps(through.get_state())


def test_old_pages_are_replaced_by_new_ones_of_their_label_and_examples_stay(training: str) -> None:
    strategy = bind_strategy(f"nb4_updatable:training={training},most=5")
    crawl_pages(strategy, range(40))
    state = strategy.get_state()
    assert isinstance(state, dict)
    rows = state["rows"]
    assert isinstance(rows, list)
    assert [len(kept) for kept in rows if isinstance(kept, list)] == [4, 5, 5]


def test_failed_fetches_add_no_rows(training: str) -> None:
    strategy = bind_strategy(f"nb4_updatable:training={training}")
    before = json.dumps(strategy.get_state())
    strategy.learn(Visit(1, Link("http://b/"), score_single_link(strategy, YES, visit()) or Priority(1.0), "http://b/"))
    strategy.learn(visit(words=YES))  # a seed has no prediction
    assert json.dumps(strategy.get_state()) == before


# Error messages


@pytest.mark.parametrize(
    ("material", "message"),
    [
        (UrlsOnlyTrainingData(), "nb4 learns from example pages: pass --examples FILE"),
        (Some(SampleTrainingData().relevant, ()), "nb4: there are no irrelevant examples"),
        (Some((), SampleTrainingData().irrelevant), "nb4: there are no relevant examples"),
        (Some(("http://gone/",), SampleTrainingData().irrelevant), "nb4: none of the 1 relevant examples can be read"),
        (
            Some(SampleTrainingData().relevant, SampleTrainingData().irrelevant, lonely=True),
            "no recorded page links to any of the 10 relevant",
        ),
    ],
)
def test_missing_training_data_is_reported_in_one_line(material: TrainingData, message: str) -> None:
    with pytest.raises(StrategyError) as raised:
        bind_strategy("nb4", material)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nb4:guide=tree", "guide is one of nb, svm, nn, not 'tree'"),
        ("nb4:weighting=idf", "weighting is one of tf, tf_idf, tf_seed_idf, not 'idf'"),
        ("nb4:k=0", "k is 0"),
        ("nb4:limit=0", "limit is 0"),
        ("nb4_updatable:every=0", "every is 0"),
        ("nb4_updatable:most=0", "most is 0"),
    ],
)
def test_invalid_parameters_are_rejected(spec: str, message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        create_strategy(spec)


def test_a_missing_training_file_is_reported() -> None:
    with pytest.raises(StrategyError, match=r"nb4: nowhere\.tsv cannot be read"):
        bind_strategy("nb4:training=nowhere.tsv")


def test_nb2_accepts_the_training_set_of_nb4_but_not_vice_versa(tmp_path: Path, training: str) -> None:
    assert bind_strategy(f"nb2:training={training}").attributes == ("url_words", "anchor")
    short = tmp_path / "short.tsv"
    short.write_text("url\turl_words\tanchor\tlabel\nhttp://a/\t1\t1\trelevant\nhttp://b/\t0\t0\tirrelevant\n", "utf-8")
    with pytest.raises(StrategyError, match=r"short\.tsv:1: the column 'parents' is missing"):
        bind_strategy(f"nb4:training={short}")
