"""NB2, NB4, updatable and ordered: Safran et al. 2012."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from topicrawl.errors import StrategyError
from topicrawl.records import Link, Page, Place, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.strategies import make
from topicrawl.strategies.material import Material, Nothing
from topicrawl.strategies.nb import Nb4
from topicrawl.strategies.strategy import Setting
from topicrawl.topic import Topic

from .material import Made, page_of, url_of

TOPIC = Topic.of("dengue fever mosquito")
#: Words before and behind a link, and on its page, that make naive Bayes say yes or no with the set below.
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
    """Material with a part of the made-up pages."""

    relevant: Sequence[str]
    irrelevant: Sequence[str]
    sessions: Sequence[Sequence[str]] = ()
    lonely: bool = False  # no page links to any

    def page(self, url: str) -> Page | None:
        return Made().page(url)

    def parents(self, url: str, most: int = 5) -> Sequence[Link]:
        return () if self.lonely else Made().parents(url, most)


def begun(spec: str, material: Material | None = None, topic: Topic = TOPIC) -> Nb4:
    strategy = make(spec)
    assert isinstance(strategy, Nb4)
    strategy.begin(Setting(topic, Vsm(topic), Random(0)))
    strategy.prepare(material or Made())
    return strategy


@pytest.fixture
def training(tmp_path: Path) -> str:
    path = tmp_path / "training.tsv"
    path.write_text(TRAINING, "utf-8")
    return str(path)


def visit(url: str = "http://a/", place: Place | None = None, relevance: float = 0.0, words: str = "") -> Visit:
    return Visit(1, Link(url), place or Place(1.0), url, Page(url, words=tuple(words.split())), relevance)


def only(strategy: Nb4, anchor: str, at: Visit, url: str = "http://b/x") -> Place | None:
    near = tuple(anchor.split())
    (place,) = strategy.place([Link(url, at.url, anchor, before=near)], at)
    return place


def part(place: Place | None, name: str) -> float:
    assert place is not None
    return dict(place.parts)[name]


def test_what_will_be_fetched_waits_first_in_first_out(training: str) -> None:
    strategy = begun(f"nb4:training={training}")
    relevant, other = only(strategy, YES, visit(words=YES)), only(strategy, NO, visit(words=NO))
    assert part(relevant, "posterior") > 0.5 > part(other, "posterior")
    assert relevant is not None
    assert other is not None
    assert relevant.score == other.score == 1.0


def test_two_irrelevant_pages_in_a_row_are_fetched_and_a_third_is_not(training: str) -> None:
    """Figure 5, lines 14 to 18: limit 3 with "<"."""
    strategy = begun(f"nb4:training={training}")
    scores, levels = [], []
    place: Place | None = None
    for _ in range(3):
        place = only(strategy, NO, visit(place=place, words=NO))
        assert place is not None
        scores.append(place.score)
        levels.append(part(place, "level"))
    assert (scores, levels) == ([1.0, 1.0, 0.0], [1.0, 2.0, 3.0])


def test_a_relevant_page_sets_the_counter_back(training: str) -> None:
    """Figure 5, line 9."""
    strategy = begun(f"nb4:training={training}")
    first = only(strategy, NO, visit(words=NO))
    second = only(strategy, NO, visit(place=first, words=NO))
    relevant = only(strategy, YES, visit(place=second, words=YES))
    assert [part(place, "level") for place in (first, second, relevant)] == [1.0, 2.0, 0.0]
    assert part(only(strategy, NO, visit(place=relevant, words=NO)), "level") == 1.0


@pytest.mark.parametrize(("limit", "scores"), [(1, [0.0, 0.0]), (2, [1.0, 0.0])])
def test_the_limit_is_a_parameter(training: str, limit: int, scores: list[float]) -> None:
    strategy = begun(f"nb4:training={training},limit={limit}")
    first = only(strategy, NO, visit(words=NO))
    second = only(strategy, NO, visit(place=first, words=NO))
    assert [place.score for place in (first, second) if place] == scores


def test_without_a_reserve_what_is_given_up_is_not_followed(training: str) -> None:
    strategy = begun(f"nb4:training={training},limit=1,reserve=no")
    assert only(strategy, NO, visit(words=NO)) is None
    assert only(strategy, YES, visit(words=YES)) is not None


def test_further_pages_may_prove_a_given_up_url_relevant(training: str) -> None:
    """A URL is classified by all pages that link to it until it is fetched."""
    strategy = begun(f"nb4:training={training},limit=1")
    waiting = only(strategy, NO, visit("http://a/1", words=NO))
    said = only(strategy, YES, visit("http://a/2", words=YES))
    assert waiting is not None
    assert said is not None
    assert waiting.score == 0.0
    together = strategy.combine(waiting, said)
    assert (together.score, part(together, "level")) == (1.0, 0.0)


def test_anchors_of_several_pages_are_put_together(training: str) -> None:
    strategy = begun(f"nb2:training={training}")
    parts = [only(strategy, word, visit(f"http://a/{word}")) for word in YES.split()]
    together = parts[0]
    for other in parts[1:]:
        assert together is not None
        assert other is not None
        together = strategy.combine(together, other)
    assert [round(part(place, "anchor"), 3) for place in (parts[0], together)] == [0.577, 1.0]


def test_the_sixth_page_has_no_say(training: str) -> None:
    strategy = begun(f"nb4:training={training},limit=1")
    place = only(strategy, NO, visit(words=NO))
    yes = only(strategy, YES, visit(words=YES))
    assert place is not None
    assert yes is not None
    for _ in range(4):
        place = strategy.combine(place, place)
    assert strategy.combine(place, yes).score == 0.0


def test_of_several_ways_to_a_url_the_one_with_fewest_irrelevant_pages_counts(training: str) -> None:
    strategy = begun(f"nb4:training={training}")
    first = only(strategy, NO, visit(words=NO))
    long_way = only(strategy, NO, visit(place=only(strategy, NO, visit(place=first, words=NO)), words=NO))
    short_way = only(strategy, NO, visit("http://c/", words=NO))
    assert long_way is not None
    assert short_way is not None
    assert (long_way.score, strategy.combine(long_way, short_way).score) == (0.0, 1.0)


def test_a_waiting_seed_stays_in_front(training: str) -> None:
    strategy = begun(f"nb4:training={training}")
    (seed,) = strategy.seeds([Link("http://b/x")])
    new = only(strategy, NO, visit(words=NO))
    assert new is not None
    assert strategy.combine(seed, new) == seed


def test_ordered_puts_the_likelier_link_first(training: str) -> None:
    strategy = begun(f"nb4_ordered:training={training}")
    relevant, other = only(strategy, YES, visit(words=YES)), only(strategy, NO, visit(words=NO))
    assert relevant is not None
    assert other is not None
    assert relevant.score == part(relevant, "posterior") > other.score == part(other, "posterior") > 0


def test_examples_of_irrelevant_pages_are_not_followed() -> None:
    """Figure 5, lines 1 and 5: they are in IRT from the start."""
    made = Made()
    strategy = begun("nb4", made, TOPIC.with_examples(made.relevant, made.irrelevant))
    known, other = Link(url_of("railway", 3), anchor="a train"), Link("http://made/new", anchor="a train")
    assert [place is None for place in strategy.place([known, other], visit())] == [True, False]


@pytest.mark.parametrize("spec", ["nb2", "nb4", "nb4_ordered", "nb4:guide=svm", "nb4:guide=nn", "nb4:weighting=tf_idf"])
def test_it_learns_from_examples_which_links_to_follow(spec: str) -> None:
    strategy = begun(spec + (",tune=yes" if ":" in spec else ":tune=yes"))
    page = page_of("dengue", 1)
    at = Visit(1, Link(page.url), Place(1.0), page.url, page, 1.0)
    for link, place in zip(page.links, strategy.place(page.links, at), strict=True):
        assert (part(place, "posterior") > 0.5) == ("dengue" in link.url)


def test_the_keyword_table_comes_from_the_relevant_examples() -> None:
    strategy = begun("nb4:k=3")
    assert list(strategy.plain.words) == ["fever", "dengue", "mosquito"]


def test_a_training_set_says_how_words_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "training.tsv"
    path.write_text("counted\ttf\t1\n" + TRAINING, "utf-8")
    at = visit(words="train train dengue")
    assert part(only(begun(f"nb4:training={path}"), "x", at), "parents") == 0
    path.write_text("counted\ttf\t2\n" + TRAINING, "utf-8")
    assert part(only(begun(f"nb4:training={path}"), "x", at), "parents") > 0


def test_related_words_count_in_addresses_and_anchors(tmp_path: Path) -> None:
    path = tmp_path / "cars.tsv"
    path.write_text(TRAINING.replace("dengue", "car").replace("fever", "road").replace("mosquito", "wheel"), "utf-8")
    with_them, without = (begun(f"nb4:training={path},wordnet={answer}") for answer in ("yes", "no"))
    assert part(only(with_them, "automobile", visit()), "anchor") > 0
    assert part(only(without, "automobile", visit()), "anchor") == 0


# The training set that grows


def crawled(strategy: Nb4, steps: range) -> list[float]:
    """Visits pages whose anchors say the topic and that turn out to be about something else, and some others."""
    posteriors = []
    for step in steps:
        place = only(strategy, YES if step % 3 else NO, visit(words=YES if step % 3 else NO), f"http://b/{step}")
        strategy.learn(visit(f"http://b/{step}", place, relevance=float(step % 3 == 0)))
        posteriors.append(part(only(strategy, YES, visit(words=YES)), "posterior"))
    return posteriors


def test_visited_pages_change_what_is_predicted(training: str) -> None:
    posteriors = crawled(begun(f"nb4_updatable:training={training},every=5"), range(60))
    assert posteriors[0] > 0.5 > posteriors[-1]


def test_a_row_of_irrelevant_pages_alone_changes_nothing(training: str) -> None:
    strategy = begun(f"nb4_updatable:training={training},every=1")
    before = part(only(strategy, YES, visit(words=YES)), "posterior")
    for step in range(20):
        strategy.learn(visit(f"http://b/{step}", only(strategy, NO, visit(words=NO)), relevance=0.0))
    assert part(only(strategy, YES, visit(words=YES)), "posterior") == before


def test_a_fixed_training_set_stays_as_it_is(training: str) -> None:
    assert len(set(crawled(begun(f"nb4:training={training}"), range(30)))) == 1


@pytest.mark.parametrize("guide", ["nb", "svm", "nn"])
def test_a_crawl_that_was_interrupted_learns_the_same(training: str, guide: str) -> None:
    spec = f"nb4_updatable:training={training},every=7,most=20,guide={guide}"
    through, before = begun(spec), begun(spec)
    whole = crawled(through, range(50))
    crawled(before, range(23))
    after = make(spec)
    assert isinstance(after, Nb4)
    after.begin(Setting(TOPIC, Vsm(TOPIC), Random(9)))
    after.restore(json.loads(json.dumps(before.state())))
    assert crawled(after, range(23, 50)) == whole[23:]
    assert json.dumps(after.state()) == json.dumps(through.state())


def test_old_pages_are_replaced_by_new_ones_of_their_label_and_examples_stay(training: str) -> None:
    strategy = begun(f"nb4_updatable:training={training},most=5")
    crawled(strategy, range(40))
    state = strategy.state()
    assert isinstance(state, dict)
    rows = state["rows"]
    assert isinstance(rows, list)
    assert [len(kept) for kept in rows if isinstance(kept, list)] == [4, 5, 5]


def test_failed_fetches_teach_nothing(training: str) -> None:
    strategy = begun(f"nb4_updatable:training={training}")
    before = json.dumps(strategy.state())
    strategy.learn(Visit(1, Link("http://b/"), only(strategy, YES, visit()) or Place(1.0), "http://b/"))
    strategy.learn(visit(relevance=1.0))  # a seed: nothing was predicted of it
    assert json.dumps(strategy.state()) == before


# Mistakes


@pytest.mark.parametrize(
    ("material", "message"),
    [
        (Nothing(), "nb4 learns from example pages: give --examples FILE"),
        (Some(Made().relevant, ()), "nb4: there are no irrelevant examples"),
        (Some((), Made().irrelevant), "nb4: there are no relevant examples"),
        (Some(("http://gone/",), Made().irrelevant), "nb4: none of the 1 relevant examples can be read"),
        (Some(Made().relevant, Made().irrelevant, lonely=True), "no recorded page links to any of the 10 relevant"),
    ],
)
def test_missing_material_is_told_in_one_line(material: Material, message: str) -> None:
    with pytest.raises(StrategyError) as raised:
        begun("nb4", material)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nb4:guide=tree", "guide is one of nb, svm, nn, not 'tree'"),
        ("nb4:weighting=idf", "weighting is one of tf, tf_idf, not 'idf'"),
        ("nb4:k=0", "k is 0"),
        ("nb4:limit=0", "limit is 0"),
        ("nb4_updatable:every=0", "every is 0"),
        ("nb4_updatable:most=0", "most is 0"),
    ],
)
def test_impossible_parameters_are_refused(spec: str, message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        make(spec)


def test_a_training_file_that_is_not_there_is_named() -> None:
    with pytest.raises(StrategyError, match=r"nb4: nowhere\.tsv cannot be read"):
        begun("nb4:training=nowhere.tsv")


def test_nb2_reads_the_training_set_of_nb4_and_not_the_other_way_round(tmp_path: Path, training: str) -> None:
    assert begun(f"nb2:training={training}").attributes == ("url_words", "anchor")
    short = tmp_path / "short.tsv"
    short.write_text("url\turl_words\tanchor\tlabel\nhttp://a/\t1\t1\trelevant\nhttp://b/\t0\t0\tirrelevant\n", "utf-8")
    with pytest.raises(StrategyError, match=r"short\.tsv:1: the column 'parents' is missing"):
        begun(f"nb4:training={short}")
